"""Linking of scores across months: common-item equating with a Rasch model over the tasks that months share. Pure.

Three quarters of a month's tasks were live the month before. One Rasch model over all months (concurrent calibration:
M. J. Kolen and R. L. Brennan, *Test Equating, Scaling, and Linking*, 3rd ed., 2014, chapter 6) gives each task one
difficulty and each run one ability; the *linked score* of a run is what its ability would pass of the reference set
(true-score equating, ibid., 6.5). A cohort's difficulties are shrunk towards that cohort's own mean, so that a harder
cohort is not underestimated.

1. All runs of one submitter in a rotation have the weight of one run.
2. A run whose passes on tasks that could have been known stand out against its other passes is down-weighted, to zero
   if they stand out much (the biweight of A. E. Beaton and J. W. Tukey, *Technometrics* 16, 1974), so that what one
   submitter knows does not move the link of the others.
3. The intervals come from a grouped jackknife over families that repeats the whole fit (linking error included:
   S. J. Haberman, Y.-H. Lee and J. Qian, ETS RR-09-39, 2009), with Student's t, on the scale of log odds for scores.

Limit: a month in which all tasks became easier for everybody (more than half of the submitters know the retained tasks)
looks the same as one in which everybody became better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from rotation.detection.statistics.table import Bools, Floats, ResultTable
from sandbox.results.interval import student

ABILITY_SD = 3.0  # log odds; wide: it only keeps a run that passed all, or none, finite
TASK_SD = 1.4  # log odds, within a cohort
CLOSE = 1e-5  # log odds; far below any figure that is shown
GROUPS = 20  # of the jackknife
MIN_GROUPS = 5  # below, no interval can be told
REJECTED = 4.685  # standard deviations at which the biweight is nothing; 95 % efficient where nobody cheats
MAD = 1.4826  # a normal's standard deviation / its median absolute deviation


@dataclass(frozen=True)
class Scale:
    """The result of one calibration.

    Attributes:
        ability: (P,) log odds, from all tasks of a run.
        unaided: (P,) log odds, from the tasks that the submitter could not have known; from all if there are none.
        difficulty: (T,) log odds; nan for tasks left out. The reference set's mean is 0.
        weight: (P,) the weight of each run.
        kept: (T,) the tasks that it was fitted on.
    """

    ability: Floats
    unaided: Floats
    difficulty: Floats
    weight: Floats
    kept: Bools

    def expected(self, ability: Floats, cells: Bools) -> Floats:
        """Return the expected share of passes of abilities (P,) on the tasks in cells (P, T); nan if there are none."""
        chance = expit(ability[:, None] - np.nan_to_num(self.difficulty)) * (cells & self.kept)
        return _over(chance.sum(1), (cells & self.kept).sum(1))


@dataclass(frozen=True)
class Estimate:
    """A figure with its standard error and 95 % interval; all None where the data cannot tell."""

    value: float | None
    se: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class LinkedRuns:
    """All runs of a table, linked to one common scale.

    Attributes:
        table: the results.
        reference: (T,) the reference set, whose tasks the linked scores refer to.
        scale: the calibration of all tasks.
        again: the jackknife replicates: the calibrations that leave out one group of families each.
    """

    table: ResultTable
    reference: Bools
    scale: Scale
    again: tuple[Scale, ...]

    def scores(self, scale: Scale) -> Floats:
        """Return the linked scores (P,) by one calibration."""
        return scale.expected(scale.ability, np.broadcast_to(self.reference, self.table.taken.shape))

    def linked(self) -> list[Estimate]:
        """Return each run's linked score."""
        return self.estimates(self.scores, share=True)

    def change(self, before: int, after: int) -> Estimate:
        """Return the change of the linked score from run `before` to run `after`."""
        return self.estimates(lambda scale: np.diff(self.scores(scale)[[before, after]]))[0]

    def estimates(self, figures: Callable[[Scale], Floats], *, share: bool = False) -> list[Estimate]:
        """Return figures (N,) of a calibration with their intervals; a share's interval stays between 0 and 1."""
        values = figures(self.scale)
        again = np.array([figures(scale) for scale in self.again]).reshape(len(self.again), len(values))
        if len(again) < MIN_GROUPS:
            return [Estimate(_known(value), None, None, None) for value in values]
        k = len(again)
        errors = np.sqrt((k - 1) / k * ((again - again.mean(0)) ** 2).sum(0))
        return [_estimate(value, se, student(k - 1), share=share) for value, se in zip(values, errors, strict=True)]


def link(table: ResultTable, reference: int | None = None) -> LinkedRuns:
    """Link all runs of a table to one common scale.

    Args:
        table: the results of all months.
        reference: the rotation whose tasks are the reference set; the earliest by default, so that it stays the same.
    """
    rotation = int(table.rotation.min(initial=1)) if reference is None else reference
    chosen = table.taken[table.rotation == rotation].any(axis=0)
    everything = np.ones(len(table.tasks), dtype=bool)
    scale = _calibrated(table, chosen, everything, None)
    again = tuple(_calibrated(table, chosen, ~group, scale) for group in groups(table))
    return LinkedRuns(table, chosen, scale, again)


def groups(table: ResultTable) -> list[Bools]:
    """Distribute the families, in the order of their names, over at most 20 groups of tasks (T,)."""
    count = min(GROUPS, len(table.families))
    return [table.family % count == group for group in range(count)]


def _calibrated(table: ResultTable, reference: Bools, included: Bools, start: Scale | None) -> Scale:
    cells = table.taken & included
    ability = np.zeros(len(table.runs)) if start is None else start.ability
    difficulty = np.zeros(len(table.tasks)) if start is None else np.nan_to_num(start.difficulty)
    once = _once(table)
    weight = once if start is None else start.weight
    for _ in range(4 if start is None else 1):
        ability, difficulty = _fitted(table, cells, weight, ability, difficulty)
        if start is None:
            weight = once * _trust(table, cells, ability, difficulty)
    origin = difficulty[reference & included].mean() if (reference & included).any() else 0.0
    fresh = cells & ~table.exposed
    unaided = np.where(fresh.any(1), _abilities(table, fresh, difficulty, ability), ability)
    centred = np.where(included, difficulty - origin, np.nan)
    return Scale(ability - origin, unaided - origin, centred, weight, included)


def _fitted(
    table: ResultTable, cells: Bools, weight: Floats, ability: Floats, difficulty: Floats
) -> tuple[Floats, Floats]:
    """Maximise the posterior by alternating Newton steps; each cohort's mean difficulty is free."""
    counted = cells * weight[:, None]
    cohorts, cohort = np.unique(table.first, return_inverse=True)
    observed = cells.any(0)
    size, passed = np.maximum(np.bincount(cohort, observed, len(cohorts)), 1), table.share
    for _ in range(200):
        ability = _abilities(table, cells, difficulty, ability, steps=1)
        chance = expit(ability[:, None] - difficulty)
        mean = (np.bincount(cohort, difficulty * observed, len(cohorts)) / size)[cohort]
        slope = ((chance - passed) * counted).sum(0) - (difficulty - mean) / TASK_SD**2
        step = slope / ((chance * (1 - chance) * counted).sum(0) + 1 / TASK_SD**2) * observed
        old, middle = difficulty, ability.mean()  # the common shift changes no fit, and converges slowly by itself
        ability, difficulty = ability - middle, difficulty + np.clip(step, -1, 1) - middle
        if np.abs(difficulty - old)[observed].max(initial=0) < CLOSE:
            break
    return ability, difficulty


def _abilities(table: ResultTable, cells: Bools, difficulty: Floats, ability: Floats, steps: int = 30) -> Floats:
    """Estimate each run's ability (P,) from its results in cells, for given difficulties."""
    middle, passed = ability.mean(), table.share
    for _ in range(steps):
        chance = expit(ability[:, None] - difficulty)
        slope = ((passed - chance) * cells).sum(1) - (ability - middle) / ABILITY_SD**2
        step = slope / ((chance * (1 - chance) * cells).sum(1) + 1 / ABILITY_SD**2)
        ability = ability + np.clip(step, -1, 1)
        if np.abs(step).max(initial=0) < CLOSE:
            break
    return ability


def contrast(table: ResultTable, cells: Bools, ability: Floats, difficulty: Floats) -> Floats:
    """Return z-scores (P,) of passes on exposed tasks against others, ability projected out; 0 if either is empty."""
    chance = expit(ability[:, None] - np.nan_to_num(difficulty))
    spread = chance * (1 - chance) * cells
    mean = _over((spread * table.exposed).sum(1), spread.sum(1))
    lever = (table.exposed - np.nan_to_num(mean)[:, None]) * cells
    noise = np.sqrt((lever**2 * spread).sum(1))
    return np.where(noise > 1e-9, (lever * (table.share - chance)).sum(1) / np.maximum(noise, 1e-9), 0.0)  # noqa: PLR2004


def _trust(table: ResultTable, cells: Bools, ability: Floats, difficulty: Floats) -> Floats:
    """Weight each run (P,) by the distance of its contrast from the median of its rotation (biweight)."""
    z = contrast(table, cells, ability, difficulty)
    weight = np.ones(len(z))
    for rotation in np.unique(table.rotation):
        in_month = table.rotation == rotation
        off = np.abs(z[in_month] - np.median(z[in_month]))
        scaled = off / max(1.0, MAD * float(np.median(off))) / REJECTED
        weight[in_month] = np.maximum(0, 1 - scaled**2) ** 2
    return weight


def _once(table: ResultTable) -> Floats:
    """Weight each run (P,) by one over the number of its submitter's runs in the rotation."""
    pair = table.rotation * (len(table.submitters) + 1) + table.submitter
    _, which, count = np.unique(pair, return_inverse=True, return_counts=True)
    share: Floats = 1.0 / count[which]
    return share


def _estimate(value: float, se: float, quantile: float, *, share: bool) -> Estimate:
    if not np.isfinite(value) or not np.isfinite(se):
        return Estimate(None, None, None, None)
    if share:
        inside = min(max(value, 1e-6), 1 - 1e-6)
        half = quantile * se / (inside * (1 - inside))
        low, high = (float(expit(logit(inside) + side * half)) for side in (-1, 1))
    else:
        low, high = value - quantile * se, value + quantile * se
    return Estimate(float(value), float(se), low, high)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _over(part: Floats, whole: Floats) -> Floats:
    share: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share
