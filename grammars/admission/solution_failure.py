"""Explanation of a reference solution that does not pass: the first call that failed, and the predicate that decided.

It quotes the task, so it belongs to the evidence of an admission. Its sentence (`where`) names places, tools and
predicates only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from verifiers.language.verdict import Evidence


@dataclass(frozen=True, slots=True)
class FailedCall:
    """The first call that ended in an error which the task does not schedule.

    Attributes:
        number: its place among the calls, from 1.
        of: how many calls were made.
        tool: the tool, `server.tool`.
        error: what the server answered.
    """

    number: int
    of: int
    tool: str
    error: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DecidingLeaf:
    """The first predicate, from left to right, that keeps the whole from being true.

    Attributes:
        place: where it stands in the task.
        predicate: its name.
        expected: the verdict that it needs: `false` below a `not`, else `true`.
        verdict: the verdict that it has.
        looked_at: its arguments.
        found: what was there instead.
    """

    place: str
    predicate: str
    expected: str
    verdict: str
    looked_at: Mapping[str, Any] = field(repr=False)
    found: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SolutionFailure:
    """What went wrong where a solution does not get *true*, or meets an error that is not scheduled."""

    call: FailedCall | None
    leaf: DecidingLeaf | None

    def where(self) -> str:
        """Name the call and the predicate, and quote no value of the task."""
        call, leaf, parts = self.call, self.leaf, []
        if call:
            parts.append(f"call {call.number} of {call.of} ({call.tool}) ends in an error")
        if leaf:
            parts.append(f"{leaf.predicate} at {leaf.place} is {leaf.verdict}")
        return " and ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)


def failure_of(evidence: Evidence, log: Sequence[Mapping[str, Any]]) -> SolutionFailure:
    """Explain a solution from its evidence and its calls, as a prover gives them."""
    return SolutionFailure(_failed_call(log), _leaf(evidence, "$.success_predicate", "true"))


def _failed_call(log: Sequence[Mapping[str, Any]]) -> FailedCall | None:
    for number, call in enumerate(log, 1):
        if call["error"] and not call["injected"]:
            return FailedCall(number, len(log), call["tool"], call["result"])
    return None


def _leaf(node: Evidence, place: str, expected: str) -> DecidingLeaf | None:
    """Find the first leaf that has another verdict than the one that is expected of it."""
    if node.verdict.value == expected:
        return None
    if node.op == "not":
        return _leaf(node.children[0], f"{place}.not", "true" if expected == "false" else "false")
    if node.children:
        parts = (_leaf(child, f"{place}.{node.op}[{at}]", expected) for at, child in enumerate(node.children))
        return next((leaf for leaf in parts if leaf), None)
    return DecidingLeaf(place, node.op, expected, node.verdict.value, node.looked_at, node.found)
