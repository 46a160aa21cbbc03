"""What the months before let expect of this month's results, task by task. Pure.

Difficulties come from earlier rotations alone. A submitter's ability is this month's, on the tasks that have a past;
what they did on the same task before counts as a lasting lean to it, normal around 0. A fresh task is expected to be as
hard as this month's fresh ones are, moved by how its family was; so little is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from rotation.anomaly import ability
from rotation.anomaly.table import Bools, Floats, Ints, Table

DRIFT = 0.06  # the variance, in logits^2, by which a task may change from one month to the next
LEAN, BELIEF, MOST_LEAN = 0.3, 200.0, 1.5  # the variance of leans that is believed before it is seen, and how far
FAMILY = 0.2  # the variance between families beside that between tasks


@dataclass(frozen=True)
class Expected:
    """One run each of S submitters on the I tasks of a rotation.

    Attributes:
        tasks: (I,) indices into the table's tasks.
        easiness: (S, I) log odds of a pass at the middle of what is known of the difficulty.
        slope: (S, I) by which log odds are flattened for what is not known of the submitter's lean.
        unknown: (I,) variance of the difficulty, in logits^2.
        fresh: (I,) whether the task has no past.
        taken, passed: (S, I).
    """

    tasks: Ints
    easiness: Floats
    slope: Floats
    unknown: Floats
    fresh: Bools
    taken: Bools
    passed: Bools

    def chances(self, easier: Floats) -> Floats:
        """Give the chance of a pass, (K, S, I), with tasks easier by (K, I) logits than expected."""
        chances: Floats = expit((self.easiness + easier[:, None, :]) * self.slope)
        return np.clip(chances, 1e-6, 1 - 1e-6)


def expected(table: Table, rotation: int) -> Expected:
    """Say what to expect of a rotation; every submitter counts once, by the first of their runs."""
    before = _before(table, rotation)
    fit = ability.fit(before)
    here = np.flatnonzero(table.rotation == rotation)
    runs = here[np.unique(table.submitter[here], return_index=True)[1]]
    tasks = np.flatnonzero(table.taken[runs].any(axis=0))
    fresh: Bools = np.logical_not(before.taken[:, tasks].any(axis=0))
    taken, passed = table.taken[np.ix_(runs, tasks)], table.passed[np.ix_(runs, tasks)]
    difficulty, unknown = fit.difficulty[tasks], fit.variance[tasks] + DRIFT
    theta = ability.ables(passed, taken & ~fresh, difficulty, unknown)
    lean, left = _leans(before, fit, table.submitter[runs], tasks)
    slope = 1 / np.sqrt(1 + ability.LOGISTIC * left)
    month = Expected(tasks, theta[:, None] - difficulty + lean, slope, unknown, fresh, taken, passed)
    easiness, unknown = _fresh(month, difficulty, table.family[tasks])
    return replace(month, easiness=easiness, unknown=unknown)


def _before(table: Table, rotation: int) -> Table:
    """Keep earlier runs, and every task."""
    kept = np.flatnonzero(table.rotation < rotation)
    return replace(
        table,
        runs=tuple(table.runs[run] for run in kept),
        submitter=table.submitter[kept],
        rotation=table.rotation[kept],
        taken=table.taken[kept],
        passed=table.passed[kept],
        calls=table.calls[kept],
        exposed=table.exposed[kept],
    )


def _leans(before: Table, fit: ability.Abilities, submitters: Ints, tasks: Ints) -> tuple[Floats, Floats]:
    """Give each submitter's lean to each task and what is unknown of it, (S, I) each."""
    spread = fit.expected * (1 - fit.expected)
    left, weight = np.zeros((2, len(before.submitters), len(before.tasks)))
    np.add.at(left, before.submitter, fit.residual)
    np.add.at(weight, before.submitter, spread)
    products = float((left**2).sum() - (fit.residual**2).sum())
    weights = float((weight**2).sum() - (spread**2).sum())
    variance = min(max((products + LEAN * BELIEF) / (weights + BELIEF), 0.0), MOST_LEAN)
    cells = np.ix_(submitters, tasks)
    known = 1 + variance * weight[cells]
    return variance * left[cells] / known, variance / known


def _fresh(month: Expected, difficulty: Floats, family: Ints) -> tuple[Floats, Floats]:
    """Expect fresh tasks to be as hard as this month's are, moved by how their families were: (S, I), (I,)."""
    old = np.flatnonzero(~month.fresh)
    if not month.fresh.any() or not len(old):
        return month.easiness, np.where(month.fresh, ability.DIFFICULTY_SD**2, month.unknown)
    centre, between = float(difficulty[old].mean()), float(difficulty[old].var())
    families = int(family.max()) + 1
    away = np.bincount(family[old], difficulty[old] - centre, families)
    count = np.bincount(family[old], minlength=families)
    offset = (away / (count + between / FAMILY))[family] + centre
    level = month.easiness + difficulty - offset
    there, passed = month.taken & month.fresh, month.passed & month.fresh
    flat = 1 / np.sqrt(1 + ability.LOGISTIC * between)
    shift = 0.0
    for _ in range(20):
        chance = expit((level - shift) * flat) * there
        slope = float((chance * (1 - chance)).sum())
        shift += min(max(float((chance - passed * there).sum()) / max(slope, 1e-6), -1.0), 1.0)
    return np.where(month.fresh, level - shift, month.easiness), np.where(month.fresh, between + FAMILY, month.unknown)
