"""Text of `task review`: a task as its reviewer reads it, with what each solution and each mutant came to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from grammars.admission.review import CHECKLIST
from quarterturn import trace_text
from quarterturn.cli.daily.task_text import traceable
from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.tasks.review import ProvenTask
from verifiers.language import predicate

MEMBERS, LETTERS = 3, 60
"""How much of a starting state is shown: members of a list or an object, and characters of a text."""

ARGUMENT = 200
"""Characters of a call's argument that are shown."""

Evidence = Mapping[str, Any]


def for_review(proven: ProvenTask) -> Iterator[str]:
    """Describe a task: goal, starting state in short, solutions call by call, predicate, mutants, gates, questions."""
    task, admission = proven.opened.task, proven.admission
    yield f"{task.id}  {task.server}, {task.category}, {task.difficulty}"
    yield f"Goal       {task.goal}"
    if english := proven.opened.provenance.get("goal_in_english"):
        yield f"Language   {task.language}; the goal in English: {english}"
    yield f"Budget     {task.max_steps} calls"
    yield f"Tools      {', '.join(task.available_tools)}"
    for fault in task.document.get("faults", []):
        yield f"Fault      call {fault['call']} of {fault['tool']} answers: {fault['error']}"
    yield from _state(task.document["initial_state"])
    recorded = admission.get("evidence", {})
    for solution in proven.opened.provenance.get("solutions", []):
        yield from _solution(solution, recorded.get("solutions", {}).get(solution.get("name", "")))
    yield f"Success    {predicate.in_words(predicate.parse(task.document['success_predicate'], filled=False))}"
    for mutant in proven.opened.provenance.get("mutants", []):
        yield from _mutant(mutant, recorded.get("mutants", {}).get(mutant["name"]))
    for name in recorded.get("mutation", {}).get("survived", []):
        yield f"Unnoticed  {name}: this change of the end state passes"
    for name in recorded.get("mutation", {}).get("let_through", []):
        yield f"Let through {name}: the frame lets this change pass, and says why"
    for name, why in proven.opened.provenance.get("exact", {}).items():
        yield f"Exact      {name} does not pass: {why}"
    yield f"Traceable  {traceable(task)}"
    for gate in admission["gates"]:
        word = "ok" if gate["ok"] else "NO"
        yield StatusLine(f"Gate {gate['number']}     {word}  {gate['name']}: {gate['detail']}", word)
    for question in CHECKLIST.values():
        yield f"Question   {question}"


def _state(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the starting state of each server in short."""
    for server, part in state.items():
        yield f"State      {server}: {_compact(_shortened(part))}"
    if not state:
        yield "State      empty"


def _shortened(value: Any) -> Any:
    """Keep the first members and characters of a JSON value, and say how many are left out."""
    if isinstance(value, str) and len(value) > LETTERS:
        return f"{value[:LETTERS]}… ({len(value)} characters)"
    if isinstance(value, Mapping):
        kept = {key: _shortened(part) for key, part in list(value.items())[:MEMBERS]}
        return kept | ({"…": f"{len(value) - MEMBERS} more"} if len(value) > MEMBERS else {})
    if isinstance(value, list):
        more = [f"… {len(value) - MEMBERS} more"] if len(value) > MEMBERS else []
        return [*map(_shortened, value[:MEMBERS]), *more]
    return value


def _solution(solution: Mapping[str, Any], played: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a reference solution call by call, and what it came to when it was executed."""
    calls = len(played["log"]) if played else 0
    outcome = f": executed with {calls} call{'s'[: calls != 1]}, {_passes(played['evidence'])}" if played else ""
    yield f"Solution   {solution.get('name', '')}{outcome}"
    for number, call in enumerate(solution["calls"], 1):
        yield f"  {number:>7}. {call['tool']} {_cut(_compact(call['arguments']))}"
    yield f"           answer: {'none' if solution['answer'] is None else solution['answer']}"


def _mutant(mutant: Mapping[str, Any], judged: Evidence | None) -> Iterator[str]:
    """Say how a mutant differs from a right end state, and what the predicate found there."""
    change = f"answer: {mutant.get('answer')}"
    if "change" in mutant:
        change = f"{mutant['server']}: {_compact(mutant['change'])}"
    yield f"Mutant     {mutant['name']} ({_cut(change)})"
    if judged is None:
        yield "           was not executed"
        return
    if judged["verdict"] != "false":
        yield StatusLine(f"           NO: it gets {judged['verdict']}, and has to get false", "NO")
        return
    yield StatusLine("           ok: it gets false, as it has to", "ok")
    for node in trace_text.decisive(judged):
        yield f"           {_cut(trace_text.predicate_words(node))}: {_cut(trace_text.seen(node))}".rstrip(": ")


def _passes(judged: Evidence) -> str:
    return "passes" if judged["verdict"] == "true" else f"gets {judged['verdict']}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= ARGUMENT else f"{text[:ARGUMENT]}… ({len(text)} characters)"
