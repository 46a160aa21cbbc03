"""Three-valued verdicts (true, false, unknown) and the evidence tree behind them.

Kleene's strong logic (S. C. Kleene, *Introduction to Metamathematics*, 1952, section 64): unknown is neither true nor
false, stays unknown under *not*, and decides nothing that the other operands do not decide without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """The value of a predicate; only TRUE is a pass, and UNKNOWN is never silently a fail."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    def negated(self) -> Verdict:
        """Return the value of *not*."""
        return {Verdict.TRUE: Verdict.FALSE, Verdict.FALSE: Verdict.TRUE}.get(self, self)


def all_of(values: Sequence[Verdict]) -> Verdict:
    """Return the value of *all*: false if any is false, else unknown if any is unknown."""
    if Verdict.FALSE in values:
        return Verdict.FALSE
    return Verdict.UNKNOWN if Verdict.UNKNOWN in values else Verdict.TRUE


def any_of(values: Sequence[Verdict]) -> Verdict:
    """Return the value of *any*: true if any is true, else unknown if any is unknown."""
    if Verdict.TRUE in values:
        return Verdict.TRUE
    return Verdict.UNKNOWN if Verdict.UNKNOWN in values else Verdict.FALSE


@dataclass(frozen=True, slots=True)
class Evidence:
    """One node of the evidence tree.

    Attributes:
        op: `all`, `any`, `not`, or the predicate's name (`filesystem.fileExists`).
        verdict: what this node came to.
        looked_at: the predicate's arguments (empty for the three connectives).
        found: one sentence about what was there. It may quote the state, so it is as secret as the task.
        children: the operands of a connective, in their order.
        broken: a probe in it broke, which is a defect of ours or the doing of the state (`evaluate`, rule 4).
    """

    op: str
    verdict: Verdict
    looked_at: Mapping[str, Any] = field(default_factory=dict, repr=False)
    found: str = field(default="", repr=False)
    children: tuple[Evidence, ...] = field(default=(), repr=False)
    broken: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the tree as plain JSON values."""
        out: dict[str, Any] = {"op": self.op, "verdict": self.verdict.value}
        if self.looked_at:
            out["looked_at"] = dict(self.looked_at)
        if self.found:
            out["found"] = self.found
        if self.children:
            out["children"] = [child.as_json() for child in self.children]
        if self.broken:
            out["broken"] = True
        return out
