"""Threshold sensitivity: what pass rates and ranks of submissions would be, had another coverage of claims been asked.

A task passes iff the mean of its claims' scores reaches the threshold. A claim that no judge decided is unknown: the
mean has a low bound, with such claims at 0, and a high one, with them at 1. A task whose bounds lie on both sides of
the threshold is open: it counts as not passed, and apart. So pass rates never rise with the threshold. Pure.

Rank agreement is Kendall's tau-b, which allows ties (M. G. Kendall, *Biometrika* 33, 1945, 239-251).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any

from quarterturn.errors import Malformed
from quarterturn_measures.claim_scores import JudgedTask
from quarterturn_measures.measures.figures import pairs_by_skeleton
from sandbox.results.interval import Figure, proportion

DEFAULT_THRESHOLD = Fraction(3, 4)
THRESHOLDS = tuple(Fraction(text) for text in ("0.5", "0.6", "0.7", "0.75", "0.8", "0.9", "1"))


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Submissions at one threshold.

    Attributes:
        threshold: the coverage that passes.
        pass_rates: each submission's.
        open: how many of its tasks unknown claims leave open.
        ranks: 1 + the number of submissions with a higher pass rate.
        tau_b: agreement of the pass rates' order with that at the usual threshold; None where either has no order.
    """

    threshold: Fraction
    pass_rates: Mapping[str, Figure]
    open: Mapping[str, int]
    ranks: Mapping[str, int]
    tau_b: float | None


def sensitivity(
    submissions: Mapping[str, Sequence[JudgedTask]], thresholds: Sequence[Fraction] = THRESHOLDS
) -> list[AtThreshold]:
    """Return pass rates and ranks at each threshold, for submissions on the same tasks."""
    usual = _passes(submissions, DEFAULT_THRESHOLD)
    return [_at(submissions, threshold, usual) for threshold in thresholds]


def kendall_tau_b(first: Sequence[Fraction | float], second: Sequence[Fraction | float]) -> float | None:
    """Return the agreement of two orders of the same things, from -1 to 1; None where one of them has no order."""
    signs = [(_sign(a - b), _sign(c - d)) for (a, c), (b, d) in combinations(list(zip(first, second, strict=True)), 2)]
    ordered = [sum(sign[side] != 0 for sign in signs) for side in (0, 1)]
    return sum(one * other for one, other in signs) / sqrt(ordered[0] * ordered[1]) if all(ordered) else None


def require_same_tasks(submissions: Mapping[str, Mapping[str, JudgedTask]]) -> None:
    """Require that all submissions have the same tasks; else their pass rates give no ranks.

    Raises:
        Malformed: they have not.
    """
    every = {task for tasks in submissions.values() for task in tasks}
    for name, tasks in submissions.items():
        if missing := sorted(every - set(tasks)):
            raise Malformed(f"{name} has no score of {missing[0]}, which another has; ranks compare the same tasks")


def as_json(found: Sequence[AtThreshold]) -> list[dict[str, Any]]:
    """Return threshold sensitivity as plain JSON values."""
    return [
        {
            "threshold": float(at.threshold),
            "pass_rates": {name: asdict(figure) for name, figure in at.pass_rates.items()},
            "open": dict(at.open),
            "ranks": dict(at.ranks),
            "kendall_tau_b": at.tau_b,
        }
        for at in found
    ]


def _at(
    submissions: Mapping[str, Sequence[JudgedTask]], threshold: Fraction, usual: Mapping[str, Fraction]
) -> AtThreshold:
    passes = _passes(submissions, threshold)
    return AtThreshold(
        threshold,
        {
            name: proportion(pairs_by_skeleton((task.skeleton, int(task.low >= threshold), 1) for task in tasks))
            for name, tasks in submissions.items()
        },
        {name: sum(task.low < threshold <= task.high for task in tasks) for name, tasks in submissions.items()},
        {name: 1 + sum(other > share for other in passes.values()) for name, share in passes.items()},
        kendall_tau_b(list(passes.values()), [usual[name] for name in passes]),
    )


def _passes(submissions: Mapping[str, Sequence[JudgedTask]], threshold: Fraction) -> dict[str, Fraction]:
    return {
        name: Fraction(sum(task.low >= threshold for task in tasks), max(1, len(tasks)))
        for name, tasks in submissions.items()
    }


def _sign(difference: Fraction | float) -> int:
    return (difference > 0) - (difference < 0)
