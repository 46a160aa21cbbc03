"""Choice of tools: how much of what a task needs an agent shortlisted, and how often it called a wrong tool. Pure.

A needed tool is one that a reference solution calls. A solution is one way of several, so the best one counts, and a
wrong tool is one that none of them calls; a call to it may still be harmless, or even help.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from sandbox.transcript import CallRecord, ToolCall

RECALL_AT = (5, 10, 20)
"""Tools at the head of a shortlist that recall is shown for."""


def tool_recall(shortlist: Sequence[str] | None, solutions: Iterable[Sequence[ToolCall]], k: int) -> Fraction | None:
    """Return the share of the needed tools that are among the first `k` of a shortlist; None without either."""
    needed = [tools for solution in solutions if (tools := {call.tool for call in solution})]
    if shortlist is None or not needed:
        return None
    return max(Fraction(len(tools & set(shortlist[:k])), len(tools)) for tools in needed)


def wrong_tool_calls(calls: Iterable[CallRecord], solutions: Iterable[Sequence[ToolCall]]) -> int | None:
    """Count the calls to offered tools that no reference solution calls; None where no solution has a call."""
    right = {call.tool for solution in solutions for call in solution}
    return sum(call.listed and call.tool not in right for call in calls) if right else None
