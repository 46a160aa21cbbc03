"""Trace of a task run as text, for terminal, page and file: goal, calls, answer, exit status and evidence. Pure.

The input is plain JSON: a task's document, and its run as `TaskRun.as_json` gives it. Only runs of public tasks have a
trace (the dev set, retired tasks). Texts of agents and servers are hostile: they are escaped where they are shown.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grammars.language.labels import ENGLISH
from sandbox.results.outcome import BUDGETS, RUN

WIDTH = 110
MAX_SHOWN_CHARACTERS = 600
"""Of an argument list, a result, an output, an error or a value."""
ENDS = {"agent-exited": "without an answer", "steps-exceeded": "after a call too many", "time-exceeded": "out of time"}
SENTENCE = 200
"""Characters of what was seen that a sentence quotes."""
ERROR = re.compile(r"[\w.]*(Error|Exception)\b[^:]*: ")
"""How Python and Node begin the line that names an error."""
MARKS = {"true": "pass", "false": "FAIL", "unknown": "????"}

Item = Mapping[str, Any]


def headline(task: Item | None, run: Item) -> str:
    """Write a task run in one line: outcome, task, kind, calls, and the code where it is another than `finished`."""
    kind = f"{task['server']} {task['category']} {task['difficulty']}" if task else run["category"]
    calls = f"{len(run['transcript']['calls'])} of {run['max_steps']} calls"
    code = "" if run["code"] == "finished" else f"  {run['code']}"
    return f"{_mark(run)}  {run['task_id']}  {kind:<36} {calls}{code}"


def failed(task: Item, run: Item) -> list[str]:
    """Say why a task was not passed: its goal, what was expected beside what was seen, and how its program ended."""
    return [*labelled("goal", task["goal"]), *missed(run["evidence"]), *ended(run)]


def trace(task: Item | None, run: Item, state: Sequence[str] = ()) -> list[str]:
    """Write all of a task run, call by call; without its document, all but the goal. `state` stands before evidence."""
    lines = [headline(task, run), *(labelled("goal", task["goal"]) if task else [])]
    for number, call in enumerate(run["transcript"]["calls"], 1):
        outcome = "scheduled error" if call["injected"] else "error" if call["error"] else "result"
        lines += labelled(f"call {number}", f"{call['tool']} {_plain(call['arguments'])}")
        lines += labelled(outcome, call["result"])
    if not run["transcript"]["calls"]:
        lines += labelled("calls", "none")
    answer = run["transcript"]["answer"]
    lines += labelled("answer", "none" if answer is None else answer)
    return [*lines, *ended(run), *state, *labelled("evidence", ""), *_tree(run["evidence"], 1)]


def subtotals(played: Sequence[tuple[Item, Item]]) -> list[str]:
    """Count passed tasks by server, by category, and by language where there are several."""
    lines = []
    for name in ("server", "category", "language"):
        of = Counter(task.get(name, ENGLISH) for task, _ in played)
        passed = Counter(task.get(name, ENGLISH) for task, run in played if run["passed"])
        if name == "language" and len(of) == 1:
            continue
        lines.append(f"by {name}: " + ", ".join(f"{value} {passed[value]} of {of[value]}" for value in sorted(of)))
    return lines


def decisive(node: Item) -> Iterator[Item]:
    """Yield the predicates of an evidence tree that brought it to its verdict; a `not` is one with its predicate."""
    children = [child for child in node.get("children", ()) if child["verdict"] == node["verdict"]]
    if node["op"] in ("all", "any") and children:
        for child in children:
            yield from decisive(child)
    else:
        yield node


def predicate_words(node: Item) -> str:
    """Write a predicate of an evidence tree with its arguments, or a connective with those that it joins."""
    children = " ".join(f"({predicate_words(child)})" for child in node.get("children", ()))
    arguments = _plain(node["looked_at"]) if "looked_at" in node else ""
    return " ".join(filter(None, (node["op"], arguments, children)))


def seen(node: Item) -> str:
    """Say what was found at a node, or below it where that was found there."""
    return node.get("found") or "; ".join(filter(None, map(seen, node.get("children", ()))))


def _mark(run: Item) -> str:
    return MARKS["true"] if run["passed"] else MARKS["unknown"] if run["verdict"] == "unknown" else MARKS["false"]


def missed(evidence: Item) -> Iterator[str]:
    """Yield what was expected beside what was seen at each predicate that failed the task, and count the others."""
    judged = _judged(evidence)
    failing = [] if judged["verdict"] == "true" else list(decisive(judged))
    for node in failing:
        yield from labelled("expected", predicate_words(node))
        yield from labelled("seen", seen(node) or "nothing more is known")
    if holding := _holding(judged):
        yield from labelled("", _count_holding(holding, "other" if failing else "evaluated"))


def failure_sentence(run: Item, failed_tasks: int = 1) -> str:
    """Say in one sentence why a task was not passed; of several tasks, it is the first."""
    which = run["task_id"] if failed_tasks == 1 else f"{run['task_id']}, the first of {failed_tasks} failed tasks,"
    return f"{which} failed because {_cause(run)}."


def error_line(output: str) -> str:
    """Return the last line of a program's output that names an error, else the last line; at most SENTENCE long.

    The last line alone would not do: Node prints its version after the error.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if ERROR.match(line)), lines[-1] if lines else "")[:SENTENCE]


def _cause(run: Item) -> str:
    judged, ended = _judged(run["evidence"]), run["transcript"]["ended"]
    if run.get("exit_code") and ended not in BUDGETS:
        line = error_line(run["output"]).rstrip(".")
        return f"its program ended with exit status {run['exit_code']}{f' and printed: {line}' if line else ''}"
    if ended in BUDGETS:
        return BUDGETS[ended]
    if run["evidence"]["op"] == RUN or judged["verdict"] == "true":
        return f"its run ended as {run['code']}"
    failing, holding = list(decisive(judged)), _holding(judged)
    more = f" (with {len(failing) - 1} more)" if len(failing) > 1 else ""
    words = f"{_names(failing[0])} is {failing[0]['verdict']}{more}"
    found = " ".join(seen(failing[0]).split())
    words += f": {found if len(found) <= SENTENCE else f'{found[:SENTENCE]} …'}" if found else ""
    return f"{words}; {_count_holding(holding, 'other')}" if holding else words


def _judged(evidence: Item) -> Item:
    """Return the predicate's own evidence, below the node that says why a run counts otherwise."""
    return evidence["children"][0] if evidence["op"] == RUN and evidence.get("children") else evidence


def _holding(node: Item) -> int:
    """Count the true predicates below the connectives of an evidence tree."""
    if node["op"] in ("all", "any"):
        return sum(map(_holding, node.get("children", ())))
    return int(node["verdict"] == "true")


def _count_holding(count: int, which: str) -> str:
    return f"{count} {which} condition{' holds' if count == 1 else 's hold'}"


def _names(node: Item) -> str:
    """Write which predicate a node is, without arguments."""
    return " ".join((node["op"], *map(_names, node.get("children", ()))))


def _tree(evidence: Item, depth: int) -> Iterator[str]:
    arguments = f" {_plain(evidence['looked_at'])}" if evidence.get("looked_at") else ""
    seen = f"; seen: {evidence['found']}" if evidence.get("found") else ""
    yield from _wrapped("  " * depth + " " * 4, f"{evidence['verdict']}: {evidence['op']}{arguments}{seen}")
    for child in sorted(evidence.get("children", ()), key=lambda child: child["verdict"] == "true"):  # failing first
        yield from _tree(child, depth + 1)


def ended(run: Item) -> Iterator[str]:
    """Say how the program ended, where that was with an error, or without an answer."""
    status, ended = run.get("exit_code"), run["transcript"]["ended"]
    if ended in ("answered", "played") and not status:
        return
    yield from labelled("ended", f"{ENDS.get(ended, ended)}{'' if status is None else f', exit status {status}'}")
    printed = run["output"].strip()
    yield from labelled("printed", printed[-MAX_SHOWN_CHARACTERS:] if printed else "nothing")


def labelled(label: str, text: str) -> list[str]:
    """Write a text behind its label, cut and wrapped."""
    head = f"      {label:<15} "
    wrapped = [line for part in _short(text).splitlines() or [""] for line in _wrapped(" " * len(head), part)]
    return [(head + line.strip()).rstrip() if place == 0 else line for place, line in enumerate(wrapped)]


def _wrapped(indent: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, drop_whitespace=True) or [indent]


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]} … ({len(text):,} characters)"
