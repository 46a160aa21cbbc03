"""How able each run was and how hard each task is: a Rasch model, fitted to all results at once. Pure.

The chance that run j passes task i is expit(theta_j - b_i), in logits (Rasch 1960). Every run has an ability of its
own, so that a submitter may get better from one month to the next; a task keeps its difficulty. Both are modes of the
posterior under theta ~ N(0, 1.8^2) and b ~ N(m, 1.6^2): a run that passed everything still has a finite ability, and
few submitters still give difficulties, with honest variances. A cohort of tasks that went live together has a mean m of
its own, or a fresh cohort that is harder would look easier than it is wherever few have tried it.

Alternating Newton steps, rows and columns in turn; after each, the shift that both share is set to its best value at
once, since alone it would creep. Same table, same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rotation.detection.statistics.table import Bools, Floats, Ints, Table

ABILITY_SD = 1.8
DIFFICULTY_SD = 1.6  # of a task within its cohort
COHORT_SD = 1.6
ROUNDS = 100
CLOSE = 1e-6  # logits
LONGEST = 1.5  # logits; a Newton step on few results may leap past its goal
LOGISTIC = 0.346  # a logistic curve averaged over N(0, v) is one of the slope (1 + .346 v)^-1/2 (Bowling et al. 2009)


@dataclass(frozen=True)
class Abilities:
    """What a fit found, for P runs and T tasks.

    Attributes:
        theta: (P,) abilities, in logits.
        difficulty: (T,) in logits, on the same scale.
        expected: (P, T) the chance of a pass; 0 where a run has no result.
        residual: (P, T) passed minus expected; 0 where a run has no result.
        information: (T,) what the results say about a difficulty, in 1/logits^2, without the prior.
        cohort: (T,) which cohort a task is of, from 0 up.
    """

    theta: Floats
    difficulty: Floats
    expected: Floats
    residual: Floats
    information: Floats
    cohort: Ints

    @property
    def variance(self) -> Floats:
        """(T,) the variance of a difficulty, in logits^2."""
        return 1 / (self.information + DIFFICULTY_SD**-2)


def fit(table: Table) -> Abilities:
    """Fit abilities and difficulties to all results of a table.

    Cost: some 20 rounds over P x T cells.
    """
    taken = table.taken.astype(float)
    passed = np.where(table.taken, table.passed, 0).astype(float)
    theta, difficulty = np.zeros(len(table.runs)), np.zeros(len(table.tasks))
    cohort = np.unique(table.first, return_inverse=True)[1].astype(np.int64)
    for _ in range(ROUNDS):
        old = difficulty
        theta = theta + _step(passed, taken, theta, difficulty, theta / ABILITY_SD**2, ABILITY_SD)
        mean = _means(difficulty, cohort)
        pull = (mean[cohort] - difficulty) / DIFFICULTY_SD**2
        difficulty = difficulty - _step(passed.T, taken.T, -difficulty, -theta, pull, DIFFICULTY_SD)
        shift = _shift(theta, _means(difficulty, cohort))
        theta, difficulty = theta - shift, difficulty - shift
        if np.abs(difficulty - old).max(initial=0) < CLOSE:
            break
    expected = expit(theta[:, None] - difficulty) * taken
    information = (expected * (1 - expected)).sum(axis=0)
    return Abilities(theta, difficulty, expected, passed - expected, information, cohort)


def without(table: Table, abilities: Abilities, submitter: int) -> tuple[Floats, Floats]:
    """Give difficulties, and their variances, as they are without one submitter's runs: each (T,).

    One Newton step down from the fit: what the submitter adds to each task's score and information is taken away, the
    others' abilities stay. `tests/rotation/anomaly/test_ability.py` holds it against fits that never saw the runs.

    Args:
        table: what was fitted.
        abilities: the fit.
        submitter: an index into `table.submitters`.
    """
    own = table.submitter == submitter
    expected = abilities.expected[own]
    left = abilities.information - (expected * (1 - expected)).sum(axis=0)
    variance = 1 / (left + DIFFICULTY_SD**-2)
    score = abilities.residual[own].sum(axis=0)
    step = (score + _moved(score * variance, variance, abilities.cohort) / DIFFICULTY_SD**2) * variance
    return abilities.difficulty + np.clip(step, -LONGEST, LONGEST), variance


@dataclass(frozen=True)
class Apart:
    """Every run beside difficulties that its submitter had no part in.

    Attributes:
        theta: (P,) abilities, in logits.
        difficulty: (P, T) of the tasks, without the results of the run's submitter.
        unknown: (P, T) their variances, in logits^2.
    """

    theta: Floats
    difficulty: Floats
    unknown: Floats


def apart(table: Table, abilities: Abilities) -> Apart:
    """Hold every run against the other submitters' difficulties (`without`, for all at once)."""
    difficulty, unknown = np.empty(table.taken.shape), np.empty(table.taken.shape)
    for submitter in range(len(table.submitters)):
        own = table.submitter == submitter
        difficulty[own], unknown[own] = without(table, abilities, submitter)
    return Apart(ables(table.passed, table.taken, difficulty, unknown), difficulty, unknown)


def ables(passed: Bools, taken: Bools, difficulty: Floats, variance: Floats) -> Floats:
    """Give the abilities of N runs, (N,), against difficulties and variances of shape (T,) or (N, T).

    The mode of the posterior under N(0, 1.8^2), with the curve flattened for what is not known of each difficulty.
    """
    slope = np.sqrt(1 / (1 + LOGISTIC * variance)) * taken
    seen = np.where(taken, passed, 0)
    theta = np.zeros(len(passed))
    for _ in range(ROUNDS):
        expected = expit((theta[:, None] - difficulty) * slope) * taken
        score = ((seen - expected) * slope).sum(axis=1) - theta / ABILITY_SD**2
        information = (expected * (1 - expected) * slope**2).sum(axis=1) + ABILITY_SD**-2
        step = np.clip(score / information, -LONGEST, LONGEST)
        theta = theta + step
        if np.abs(step).max(initial=0) < CLOSE:
            break
    return theta


def informed(apart: Apart, taken: Bools) -> Floats:
    """Give what the results of each run say of its ability, (P,), in 1/logits^2, without the prior."""
    slope = np.sqrt(1 / (1 + LOGISTIC * apart.unknown)) * taken
    expected = expit((apart.theta[:, None] - apart.difficulty) * slope)
    information: Floats = (expected * (1 - expected) * slope**2).sum(axis=1)
    return information


def _step(passed: Floats, taken: Floats, place: Floats, against: Floats, pull: Floats, sd: float) -> Floats:  # noqa: PLR0917
    """Give one Newton step of the rows' places, the columns' being given; for tasks both signs are turned."""
    expected = expit(place[:, None] - against) * taken
    score = (passed - expected).sum(axis=1) - pull
    information = (expected * (1 - expected)).sum(axis=1) + sd**-2
    step: Floats = np.clip(score / information, -LONGEST, LONGEST)
    return step


def _means(difficulty: Floats, cohort: Ints) -> Floats:
    """Give each cohort's mean difficulty, (C,), drawn to 0 as its prior asks."""
    means: Floats = np.bincount(cohort, difficulty) / (np.bincount(cohort) + DIFFICULTY_SD**2 / COHORT_SD**2)
    return means


def _moved(steps: Floats, variance: Floats, cohort: Ints) -> Floats:
    """Say how far a cohort's mean moves, (T,), where each task alone would make a step and all follow their mean."""
    size = np.bincount(cohort) + DIFFICULTY_SD**2 / COHORT_SD**2
    held = 1 - np.bincount(cohort, variance) / DIFFICULTY_SD**2 / size
    moved: Floats = (np.bincount(cohort, steps) / size / held)[cohort]
    return moved


def _shift(theta: Floats, means: Floats) -> float:
    """Give the shift of both that suits the priors best: it changes no chance."""
    pull = theta.sum() / ABILITY_SD**2 + means.sum() / COHORT_SD**2
    return float(pull / max(len(theta) / ABILITY_SD**2 + len(means) / COHORT_SD**2, 1e-12))
