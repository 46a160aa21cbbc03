"""Failure classes: why a task failed, in the eleven classes of MCP-Atlas, from the calls and the evidence alone.

MCP-Atlas (Scale AI, *MCP-Atlas*, table of failure modes) names the classes and defines four of them; the rules below
and their order are ours. The first class that matches is the primary one; all that match are kept, each with the call
or predicate that decided. A pass, an unknown verdict and a failure of the machinery have no class.

Two classes of the eleven are a matter of judgement (whether the text says that it cannot be done; whether the task was
understood): without a judge, the first is decided by the answer's words, and the second is what remains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from quarterturn_measures.measures.call_accuracy import Schemas, key, pairs, without_retries
from quarterturn_measures.measures.call_graph import GraphDifference
from quarterturn_measures.measures.root_causes import PARAMETER, root_cause
from sandbox.results.outcome import BUDGETS, TaskRun
from sandbox.transcript import CallRecord, ToolCall
from verifiers.language.verdict import Evidence, Verdict

TITLES = {
    "no_tools_called": "No tools called",
    "capability_discovery_missing": "Capability discovery missing",
    "wrong_tool_selection": "Wrong tool selection",
    "incorrect_tool_parameters": "Incorrect tool parameters",
    "environment_constraint_violation": "Environment constraint violation",
    "missing_tool_calls": "Missing tool calls",
    "insufficient_exploration": "Insufficient exploration",
    "skipped_steps": "Skipped steps",
    "partial_task_completion": "Partial task completion",
    "incorrect_conclusion": "Incorrect conclusion",
    "misunderstood_task": "Misunderstood task",
}
"""Every class with its title, in the order in which the rules are tried."""
BY_JUDGEMENT = frozenset({"capability_discovery_missing", "misunderstood_task"})
ALIKE = 0.5
"""Share of a text that a wrong argument has in common with the right one."""
COMPARABLE = 8
"""Characters below which two arguments that differ are not alike."""
MIN_SUBJECT_CHARACTERS = 3
"""Of an argument that can name what a call is about, its subject."""
MAX_COMPARED_CHARACTERS = 2000

_INABILITY = re.compile(
    r"\b(?:can ?not|can't|could not|couldn't|unable|not able|not possible|impossible"
    r"|no (?:\w+ ){0,3}(?:tools?|access|way)|do(?:es)? not have|don't have|doesn't have|lack|not available"
    r"|unavailable|beyond my)\b",
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"access denied|outside (?:of )?(?:the )?(?:allowed|root|repository|permitted)|not (?:allowed|permitted)"
    r"|permission denied|path traversal|escapes? the|read-only|not within",
    re.IGNORECASE,
)
_READS = re.compile(
    r"(?:^|[_.-])(?:read|get|list|search|show|log|status|diff|describe|query|find|info|tree|view|fetch|open|scan|count"
    r"|explain|type|exists|hget|hgetall|hexists|lrange|llen|smembers|zrange|xrange|trace|branch|dbsize)(?:$|[_.-])"
)
_WRITES = re.compile(
    r"(?:^|[_.-])(?:write|create|update|delete|set|move|edit|add|commit|merge|push|execute|send)(?:$|[_.-])"
)


@dataclass(frozen=True, slots=True)
class FailureDiagnosis:
    """Why a task failed.

    Attributes:
        primary: the class, a key of `TITLES`.
        evidence: for each class that matches, in their order, what decided, as one sentence. It quotes the task.
    """

    primary: str
    evidence: Mapping[str, str] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"class": self.primary, "evidence": dict(self.evidence)}


@dataclass(frozen=True, slots=True)
class _Case:
    """A failed task, with what several rules ask for."""

    run: TaskRun
    calls: Sequence[CallRecord]
    solutions: Sequence[Sequence[ToolCall]]
    schemas: Schemas
    graph: GraphDifference | None

    @property
    def needed(self) -> set[str]:
        """The tools in every solution."""
        tools = [{call.tool for call in solution} for solution in self.solutions]
        return set.intersection(*tools) if tools else set()

    @property
    def useful(self) -> set[str]:
        """The tools in some solution."""
        return {call.tool for solution in self.solutions for call in solution}


def diagnose(
    run: TaskRun, solutions: Sequence[Sequence[ToolCall]], schemas: Schemas, graph: GraphDifference | None
) -> FailureDiagnosis | None:
    """Say why a task failed; None where it did not definitely fail by the agent's doing.

    Args:
        run: the task's run.
        solutions: the reference solutions.
        schemas: the tools' input schemas.
        graph: how the run's graph differs from the nearest solution's.
    """
    if run.passed or run.failure == "ours" or run.verdict is Verdict.UNKNOWN:
        return None
    calls = [call for call in run.transcript.calls if not call.injected]
    case = _Case(run, calls, [list(solution) for solution in solutions], schemas, graph)
    evidence = {name: why for name, rule in _RULES.items() if (why := rule(case)) is not None}
    if not evidence:
        evidence = {"misunderstood_task": "no other class matches its calls and evidence"}
    return FailureDiagnosis(next(iter(evidence)), evidence)


def reads(tool: str) -> bool:
    """Say whether a tool only looks, by its name."""
    name = tool.partition(".")[2].lower()
    return bool(_READS.search(name)) and not _WRITES.search(name)


def _no_tools(case: _Case) -> str | None:
    return None if case.calls or case.run.transcript.injected else "it made no call"


def _no_discovery(case: _Case) -> str | None:
    said = case.run.transcript.answer or case.run.output
    claim = _INABILITY.search(said)
    if claim is None or any(call.tool in case.needed for call in case.run.transcript.calls):
        return None
    return f'it tried no tool that every solution needs, and says "{_excerpt(said, claim)}"'


def _wrong_tool(case: _Case) -> str | None:
    for number, call in enumerate(case.run.transcript.calls, 1):
        if not call.listed:
            return f"call {number} is to {call.tool}, which the task does not list"
    if case.useful and case.calls and not any(call.tool in case.useful for call in case.run.transcript.calls):
        return f"none of its calls is to a tool of a solution ({', '.join(sorted(case.useful))})"
    return None


def _wrong_parameters(case: _Case) -> str | None:
    """Find a call to a tool that a solution needs, made in place of the right one and failed or nearly right."""
    if case.graph is None:
        return None
    calls = case.run.transcript.calls
    missing = [call for call, place in zip(case.graph.calls, case.graph.made_as, strict=True) if place is None]
    for place in case.graph.extra:
        call = calls[place]
        wanted = [other for other in missing if other.tool == call.tool]
        if not wanted or _OUTSIDE.search(call.result if call.error else ""):
            continue
        if call.error and root_cause(call) == PARAMETER:
            return f"call {place + 1} ({call.tool}) was refused for its arguments, and the right call was never made"
        if _stands_in_for_another(call, case):
            continue
        name = next((name for other in wanted if (name := _nearly(call, other)) is not None), None)
        if name is not None:
            return f"call {place + 1} ({call.tool}) has another {name} than the solution's"
    return None


def _stands_in_for_another(call: CallRecord, case: _Case) -> bool:
    """Say whether a call equals one of another solution, so that its arguments are right."""
    wanted = key(call, case.schemas)
    return any(key(other, case.schemas) == wanted for solution in case.solutions for other in solution)


def _nearly(call: CallRecord, wanted: ToolCall) -> str | None:
    """Name the argument in which a call differs from one that it is like; None if it is about something else."""
    names = [*wanted.arguments, *(name for name in call.arguments if name not in wanted.arguments)]
    differing = [name for name in names if call.arguments.get(name) != wanted.arguments.get(name)]
    if not differing:
        return None
    shared = len(differing) < len(names)
    alike = any(_likeness(call.arguments.get(name), wanted.arguments.get(name)) >= ALIKE for name in differing)
    return differing[0] if shared or alike else None


def _likeness(value: Any, wanted: Any) -> float:
    texts = [part if isinstance(part, str) else json.dumps(part, sort_keys=True) for part in (value, wanted)]
    if max(map(len, texts)) < COMPARABLE:
        return 0.0
    return SequenceMatcher(
        None, texts[0][:MAX_COMPARED_CHARACTERS], texts[1][:MAX_COMPARED_CHARACTERS], autojunk=False
    ).ratio()


def _constraint(case: _Case) -> str | None:
    if (budget := BUDGETS.get(case.run.transcript.ended)) is not None:
        return budget
    for number, call in enumerate(case.run.transcript.calls, 1):
        if call.error and not call.injected and _OUTSIDE.search(call.result):
            return f"call {number} ({call.tool}) reached outside of what the task gives it"
    failed = [node for node in _conjuncts(case.run.evidence) if _failed(node) and not _answers(node)]
    changed = next((node for node in failed if _guards(node, case) or _all_made(case)), None)
    return f"what had to stay as it was did not: {_words(changed)}" if changed else None


def _all_made(case: _Case) -> bool:
    """Say whether every call of the nearest solution was made, and others that may have written: they did the harm."""
    graph, calls = case.graph, case.run.transcript.calls
    if graph is None or None in graph.made_as:
        return False
    return any(not reads(calls[place].tool) for place in graph.extra)


def _missing_tool(case: _Case) -> str | None:
    tried = {call.tool for call in case.run.transcript.calls}
    never = sorted(case.needed - tried)
    return f"it never called {', '.join(never)}, which every solution needs" if never else None


def _little_exploration(case: _Case) -> str | None:
    targets = {key(call, case.schemas) for call in case.calls if reads(call.tool)}
    fewest = min((len(_read_targets(solution, case.schemas)) for solution in case.solutions), default=0)
    if len(targets) >= fewest:
        return None
    return f"it looked at {len(targets)} places, and every solution at {fewest} or more"


def _read_targets(solution: Sequence[ToolCall], schemas: Schemas) -> set[str]:
    return {key(call, schemas) for call in solution if reads(call.tool)}


def _skipped(case: _Case) -> str | None:
    """Find a call of the nearest solution that was not made though one that takes a value from it was."""
    for solution in case.solutions:
        wanted = without_retries(solution, case.schemas)
        made = pairs(case.run.transcript.calls, wanted, case.schemas)
        if any(place is not None for place in made) and case.graph and list(case.graph.calls) == list(wanted):
            for source, target in case.graph.edges:
                if made[source] is None and made[target] is not None:
                    return _skip(wanted[source], made[target], wanted[target])
            for place, call in enumerate(wanted[:-1]):
                later = next((at for at in range(place + 1, len(wanted)) if made[at] is not None), None)
                if made[place] is None and later is not None and not reads(call.tool):
                    return _skip(call, made[later], wanted[later])
    return None


def _skip(skipped: ToolCall, place: int | None, after: ToolCall) -> str:
    return f"it left out {skipped.tool}, and made call {(place or 0) + 1} ({after.tool}), which comes after it"


def _partial(case: _Case) -> str | None:
    ended_early = case.graph is None or None in case.graph.made_as
    if case.run.transcript.ended in BUDGETS or not ended_early:
        return None
    results = [node for node in _conjuncts(case.run.evidence) if not _answers(node) and not _guards(node, case)]
    done = [node for node in results if node.verdict is Verdict.TRUE]
    undone = [node for node in results if _failed(node)]
    if not done or not undone:
        return None
    return f"{len(done)} of {len(results)} results are there; missing is {_words(undone[0])}"


def _wrong_conclusion(case: _Case) -> str | None:
    failed = [node for node in _conjuncts(case.run.evidence) if _failed(node)]
    if not failed or not all(_answers(node) for node in failed):
        return None
    return f"the state is right, and the answer is not: {_words(failed[0])}"


_RULES: Mapping[str, Callable[[_Case], str | None]] = {
    "no_tools_called": _no_tools,
    "capability_discovery_missing": _no_discovery,
    "wrong_tool_selection": _wrong_tool,
    "incorrect_tool_parameters": _wrong_parameters,
    "environment_constraint_violation": _constraint,
    "missing_tool_calls": _missing_tool,
    "insufficient_exploration": _little_exploration,
    "skipped_steps": _skipped,
    "partial_task_completion": _partial,
    "incorrect_conclusion": _wrong_conclusion,
}


def _conjuncts(evidence: Evidence) -> Iterator[Evidence]:
    """Yield the parts of an evidence tree that all have to hold."""
    if evidence.op in ("all", "run") and evidence.children:
        for child in evidence.children:
            yield from _conjuncts(child)
    else:
        yield evidence


def _failed(node: Evidence) -> bool:
    return node.verdict is Verdict.FALSE


def _answers(node: Evidence) -> bool:
    """Say whether a conjunct is about the answer alone."""
    return all(_answers(child) for child in node.children) if node.children else node.op.startswith("answer.")


def _guards(node: Evidence, case: _Case) -> bool:
    """Say whether a conjunct is about what has to stay: no writing call of a solution names what it is about."""
    if _answers(node):
        return False
    subject = [text for text in _subjects(node) if len(text) >= MIN_SUBJECT_CHARACTERS]
    written = " ".join(
        json.dumps(call.arguments, ensure_ascii=False)
        for solution in case.solutions
        for call in solution
        if not reads(call.tool)
    )
    if not subject:
        return True
    return 2 * sum(all(part in written for part in text.split("/")) for text in subject) <= len(subject)


def _subjects(node: Evidence) -> Iterator[str]:
    """Yield the texts that name what a conjunct is about: its arguments on one line."""
    for child in node.children:
        yield from _subjects(child)
    yield from (value for value in node.looked_at.values() if isinstance(value, str) and "\n" not in value)


def _words(node: Evidence) -> str:
    arguments = json.dumps(dict(node.looked_at), ensure_ascii=False, sort_keys=True) if node.looked_at else ""
    found = f" ({node.found})" if node.found else ""
    inner = "; ".join(map(_words, node.children))
    return " ".join(filter(None, (node.op, arguments, inner)))[:MAX_COMPARED_CHARACTERS] + found


def _excerpt(text: str, match: re.Match[str]) -> str:
    start, end = max(0, match.start() - 40), match.end() + 60
    return " ".join(text[start:end].split())
