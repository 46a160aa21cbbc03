"""Prediction of a month's results from earlier months, task by task; used by broken_task.py and leaked_family.py. Pure.

Difficulties come from earlier rotations alone; abilities are this month's, on tasks with a past, so that everybody may
get better at once. A submitter's earlier results on the same task, and on others of its family, give a bias on the
task, as far as biases are seen to last until this month. A fresh task is expected to be as hard as this month's fresh
ones, adjusted by its family. How much tasks honestly change from month to month, through new models for example, is
estimated from all of this month's tasks together: normal, and for one in ten three times as wide (J. Tukey's
contaminated normal, in *Contributions to Probability and Statistics*, 1960), with a small probability that a task is
simply wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit

from rotation.detection.statistics import ability
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable

BIAS_PRIOR_VARIANCE, BIAS_PRIOR_WEIGHT, MAX_BIAS_VARIANCE = 0.2, 30.0, 1.5  # of biases on a task
FAMILY_PRIOR_VARIANCE, FAMILY_PRIOR_WEIGHT, MAX_FAMILY_VARIANCE = 0.04, 100.0, 0.6  # of biases on a family
FAMILY = 0.2  # the variance between families, in logits^2
CHANGES = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1])  # how much tasks may change, sd in logits
USUAL_CHANGE = 0.15
WIDE, WIDER = 0.1, 3.0
ROUNDS = 20
WRONG = 0.01 / 10  # the chance that a task is wrong, spread over ten logits


@dataclass(frozen=True)
class Expected:
    """The prediction for one run each of S submitters on the I tasks of a rotation.

    Attributes:
        tasks: (I,) indices into the table's tasks.
        easiness: (S, I) log odds of a pass at the mean of the difficulty.
        own: (S, I) variance of the submitter's bias on the task, in logits^2.
        kin: (S, I) variance of the submitter's bias on the task's family.
        unknown: (I,) variance of the difficulty, in logits^2.
        change: sd by which tasks honestly change from one month to the next, in logits.
        fresh: (I,) whether the task has no past.
        taken, passed: (S, I).
    """

    tasks: Ints
    easiness: Floats
    own: Floats
    kin: Floats
    unknown: Floats
    change: float
    fresh: Bools
    taken: Bools
    passed: Bools

    @cached_property
    def slope(self) -> Floats:
        """(S, I) factors that flatten log odds for the uncertainty of the biases."""
        return _flattened(self.own + self.kin)

    @cached_property
    def usual(self) -> Floats:
        """(S, I) the probabilities of a pass at the mean of the difficulty."""
        return _chances(self.easiness * self.slope)

    def chances(self, place: int, easier: Floats) -> Floats:
        """Return the probabilities (K, S) of a pass of one task if it is (K,) logits easier than expected."""
        return _chances((self.easiness[:, place] + easier[:, None]) * self.slope[:, place])

    def changes(self) -> tuple[tuple[float, float], ...]:
        """Return the components of the change distribution: shares of tasks and variances in logits^2."""
        return (1 - WIDE, self.change**2), (WIDE, (WIDER * self.change) ** 2)


_latest: list[tuple[ResultTable, int, Expected]] = []


def expected(table: ResultTable, rotation: int) -> Expected:
    """Predict a rotation; every submitter counts once, by the first of their runs.

    The latest result is cached, since broken_task.py and leaked_family.py need the same one, and a table does not
    change.
    """
    if not (_latest and _latest[0][0] is table and _latest[0][1] == rotation):
        _latest[:] = [(table, rotation, _expected(table, rotation))]
    return _latest[0][2]


def _expected(table: ResultTable, rotation: int) -> Expected:
    rows = np.flatnonzero(table.rotation == rotation)
    runs = rows[np.unique(table.submitter[rows], return_index=True)[1]]
    tasks = np.flatnonzero(table.taken[runs].any(axis=0))
    before = _before(table, rotation, tasks)
    fit = ability.fit(before)
    fresh: Bools = np.logical_not(before.taken[:, tasks].any(axis=0))
    taken = table.taken[np.ix_(runs, tasks)]
    passed = table.passed[np.ix_(runs, tasks)] & taken
    old = taken & ~fresh
    difficulty, unknown = fit.difficulty[tasks], fit.variance[tasks]
    easiness = ability.ables(passed, old, difficulty, unknown)[:, None] - difficulty
    usual = expit(easiness * _flattened(unknown))
    now = np.where(old, passed - usual, 0), np.where(old, usual * (1 - usual), 0)
    bias, own, kin = _biases(before, fit, table.submitter[runs], tasks, now)
    month = Expected(tasks, easiness + bias, own, kin, unknown, USUAL_CHANGE, fresh, taken, passed)
    easiness, unknown = _fresh(month, difficulty, table.family[tasks])
    month = replace(month, easiness=easiness, unknown=unknown)
    return replace(month, change=_change(month))


def _flattened(variance: Floats) -> Floats:
    slope: Floats = 1 / np.sqrt(1 + ability.LOGISTIC * variance)
    return slope


def _chances(odds: Floats) -> Floats:
    chances: Floats = np.clip(expit(odds), 1e-6, 1 - 1e-6)
    return chances


def _before(table: ResultTable, rotation: int, tasks: Ints) -> ResultTable:
    """Keep the earlier runs that had any of these tasks, and every task."""
    rows = np.flatnonzero((table.rotation < rotation) & table.taken[:, tasks].any(axis=1))
    return replace(
        table,
        runs=tuple(table.runs[run] for run in rows),
        submitter=table.submitter[rows],
        rotation=table.rotation[rows],
        taken=table.taken[rows],
        passed=table.passed[rows],
        calls=table.calls[rows],
        exposed=table.exposed[rows],
    )


def _biases(
    before: ResultTable, fit: ability.Abilities, submitters: Ints, tasks: Ints, now: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return each submitter's bias on each task, and the variances of it and of the bias on its family: (S, I) each.

    The variances of biases are estimated from what a submitter's results of this month and earlier ones have in common,
    on the same task and on others of its family, and from what this month's results on other families' tasks have in
    common: new models have other biases.

    Args:
        now: (S, I) the residuals of this month's results (passed minus probability), and their variances.
    """
    left, weight = np.zeros((2, len(before.submitters), len(before.tasks)))
    np.add.at(left, before.submitter, fit.residual)
    np.add.at(weight, before.submitter, fit.weight * fit.expected * (1 - fit.expected))
    left, weight, family = left[submitters], weight[submitters], before.family[tasks]
    of = np.eye(len(before.families))[before.family]
    residual, sure = left[:, tasks], weight[:, tasks]
    others, others_sure = (left @ of)[:, family] - residual, (weight @ of)[:, family] - sure
    kin = _lasting(
        others * now[0], others_sure * now[1], FAMILY_PRIOR_VARIANCE, FAMILY_PRIOR_WEIGHT, MAX_FAMILY_VARIANCE
    )
    both = _lasting(residual * now[0], sure * now[1], BIAS_PRIOR_VARIANCE, BIAS_PRIOR_WEIGHT, MAX_BIAS_VARIANCE)
    own = max(both - kin, 0.0)
    plain = 1 + own * weight
    known = 1 + kin * ((weight / plain) @ of)[:, family]
    to_family = kin * ((left / plain) @ of)[:, family] / known
    new = np.maximum(_shared(now, family) - kin, 0.0)
    bias = to_family + own * (residual - sure * to_family) / plain[:, tasks]
    return bias, own / plain[:, tasks], kin / known + new


def _shared(now: tuple[Floats, Floats], family: Ints) -> Floats:
    """Estimate the variance of biases on a family from this month's results on all other families: (I,)."""
    of = np.eye(int(family.max(initial=0)) + 1)[family]
    products, weights = (((part @ of) ** 2).sum(axis=0) - (part**2).sum(axis=0) @ of for part in now)
    variance = (products.sum() - products + FAMILY_PRIOR_VARIANCE * FAMILY_PRIOR_WEIGHT) / (
        weights.sum() - weights + FAMILY_PRIOR_WEIGHT
    )
    shared: Floats = np.clip(variance, 0, MAX_FAMILY_VARIANCE)[family]
    return shared


def _lasting(products: Floats, weights: Floats, usual: float, belief: float, most: float) -> float:
    """Estimate a variance from products of earlier and present residuals, with a prior."""
    return float(np.clip((products.sum() + usual * belief) / (weights.sum() + belief), 0, most))


def _change(month: Expected) -> float:
    """Estimate how much tasks change: the most likely sd, given how much easier each task looks this month."""
    counted = month.taken & ~month.fresh
    information = (month.slope**2 * month.usual * (1 - month.usual) * counted).sum(axis=0)
    score = (month.slope * (month.passed - month.usual) * counted).sum(axis=0)
    known = information > 0
    easier = score[known] / information[known]
    variance = 1 / information[known] + month.unknown[known]
    density = WRONG + sum(
        share * np.exp(-(easier**2) / 2 / total) / np.sqrt(2 * np.pi * total)
        for share, wider in ((1 - WIDE, 1.0), (WIDE, WIDER))
        for total in (variance + (wider * CHANGES[:, None]) ** 2,)
    )
    likely = np.log(density).sum(axis=1) - np.log(CHANGES / USUAL_CHANGE) ** 2
    return float(CHANGES[int(likely.argmax())])


def _fresh(month: Expected, difficulty: Floats, family: Ints) -> tuple[Floats, Floats]:
    """Predict fresh tasks from this month's fresh results, adjusted by their families: (S, I), (I,)."""
    old = np.flatnonzero(~month.fresh)
    if not month.fresh.any() or not len(old):
        return month.easiness, np.where(month.fresh, ability.DIFFICULTY_SD**2, month.unknown)
    centre, between = float(difficulty[old].mean()), float(difficulty[old].var() + month.unknown[old].mean())
    families = int(family.max()) + 1
    away = np.bincount(family[old], difficulty[old] - centre, families)
    count = np.bincount(family[old], minlength=families)
    offset = (away / (count + between / FAMILY))[family] + centre
    level = month.easiness + difficulty - offset
    counted, passed = month.taken & month.fresh, month.passed & month.fresh
    flat, shift = _flattened(np.array(between)), 0.0
    for _ in range(ROUNDS):
        chance = expit((level - shift) * flat) * counted
        slope = float((chance * (1 - chance)).sum())
        shift += min(max(float((chance - passed).sum()) / max(slope, 1e-6), -1.0), 1.0)
    return np.where(month.fresh, level - shift, month.easiness), np.where(month.fresh, between, month.unknown)
