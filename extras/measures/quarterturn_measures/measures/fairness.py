"""Fairness and adoption: what an answer is worth, and how well its agent used its tools. Two scores, never added. Pure.

    fairness = .10 keywords + .55 judge + .15 grounding + .20 efficiency
    fairness by the verdict = .80 passed + .20 efficiency
    adoption = .60 fluency + .40 discovery; 0 without a call

Weights and the two layers are those of *How do you benchmark an MCP server you built?* (step 3 and its configuration);
what stands for each part here is ours. A score of which a part cannot be measured is None, and never counts it as 0.

No shipped task has keywords, claims and citations at once, so its fairness is None. Fairness by the verdict is defined
for every task that was judged: whether its answer and state are right is exactly what those three parts estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from quarterturn_measures.measures.tool_success import succeeded
from sandbox.transcript import CallRecord, ToolCall

FAIRNESS = (Fraction(10, 100), Fraction(55, 100), Fraction(15, 100), Fraction(20, 100))
ADOPTION = (Fraction(60, 100), Fraction(40, 100))


def fairness(
    keywords: Fraction | None, judge: Fraction | None, grounding: Fraction | None, efficiency: Fraction | None
) -> Fraction | None:
    """Return the fairness of a task, from 0 to 1, of parts from 0 to 1; None where one of them is."""
    return _weighted(FAIRNESS, (keywords, judge, grounding, efficiency))


def fairness_by_verdict(efficiency: Fraction, *, passed: bool) -> Fraction:
    """Return the fairness of a judged task, from 0 to 1: its verdict has the weights of all parts but efficiency."""
    return sum(FAIRNESS[:-1]) * passed + FAIRNESS[-1] * efficiency


def efficiency(calls: int, max_steps: int, *, passed: bool) -> Fraction:
    """Return the share of the calls allowed that a passed task did not use; a failed one saved nothing, and has 0."""
    return max(Fraction(0), 1 - Fraction(calls, max_steps)) if passed else Fraction(0)


def adoption(calls: Sequence[CallRecord], solutions: Iterable[Sequence[ToolCall]]) -> Fraction | None:
    """Return the adoption of a task, from 0 to 1: 0 without a call, None where a part of it cannot be measured."""
    return _weighted(ADOPTION, (fluency(calls), discovery(calls, solutions))) if calls else Fraction(0)


def fluency(calls: Iterable[CallRecord]) -> Fraction | None:
    """Return the share of calls that succeeded, where calls to unlisted tools did not; None where no call counts.

    Scheduled errors and calls beyond the caps say nothing of the agent's use of a tool, and do not count.
    """
    ok = [call.passed_on and succeeded(call) for call in calls if call.passed_on or not call.listed]
    return Fraction(sum(ok), len(ok)) if ok else None


def discovery(calls: Iterable[CallRecord], solutions: Iterable[Sequence[ToolCall]]) -> Fraction | None:
    """Return the share of the tools that every solution needs that were called; None where there is no such tool."""
    tools = [{call.tool for call in solution} for solution in solutions]
    needed = set.intersection(*tools) if tools else set()
    return Fraction(len(needed & {call.tool for call in calls}), len(needed)) if needed else None


def _weighted(weights: Sequence[Fraction], parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return sum((weight * part for weight, part in zip(weights, known, strict=True)), Fraction(0))
