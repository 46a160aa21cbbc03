"""Rasch model (one-parameter IRT): the ability of each run and the difficulty of each task, fitted jointly. Pure.

The probability that run j passes task i is expit(theta_j - b_i), in logits (Rasch 1960). Every run has its own
ability, so that a submitter may get better from one month to the next; a task keeps its difficulty. Both are modes of
the posterior under theta ~ N(0, 1.8^2) and b ~ N(m, 1.6^2), so a run that passed everything still has a finite ability,
and few submitters still give difficulties, with realistic variances. Each cohort of tasks that went live together has
its own mean m; otherwise a harder fresh cohort that few have tried would look easier than it is.

The fit alternates Newton steps for runs and tasks; after each, the shift that both share is set to its optimum at once,
since it would otherwise converge slowly. The same table gives the same result, byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rotation.detection.statistics import repeats
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable

ABILITY_SD = 1.8
DIFFICULTY_SD = 1.6  # of a task within its cohort
COHORT_SD = 1.6
ROUNDS = 100
CLOSE = 1e-6  # logits
MAX_STEP_LOGITS = 1.5  # of Newton's method, whose step on few results may overshoot
LOGISTIC = 0.346  # a logistic curve averaged over N(0, v) is one of the slope (1 + .346 v)^-1/2 (Bowling et al. 2009)


@dataclass(frozen=True)
class Abilities:
    """The fitted abilities and difficulties of P runs and T tasks.

    Attributes:
        theta: (P,) abilities, in logits.
        difficulty: (T,) in logits, on the same scale.
        weight: (P, T) how many results each one counts for (`repeats`); 0 where a run has none.
        expected: (P, T) the probability of a pass.
        residual: (P, T) passed minus expected, times the weight.
        information: (T,) the Fisher information of the results about a difficulty, in 1/logits^2, without the prior.
        cohort: (T,) the index of each task's cohort, from 0.
    """

    theta: Floats
    difficulty: Floats
    weight: Floats
    expected: Floats
    residual: Floats
    information: Floats
    cohort: Ints

    @property
    def variance(self) -> Floats:
        """(T,) the variance of a difficulty, in logits^2."""
        return 1 / (self.information + DIFFICULTY_SD**-2)


def fit(table: ResultTable) -> Abilities:
    """Fit abilities and difficulties to all results of a table.

    Cost: some 20 rounds over P x T cells.
    """
    weight = np.where(table.taken, repeats.weights(table), 0.0)
    passed = weight * table.share
    theta, difficulty = np.zeros(len(table.runs)), np.zeros(len(table.tasks))
    cohort = np.unique(table.first, return_inverse=True)[1].astype(np.int64)
    for _ in range(ROUNDS):
        old = difficulty
        theta = theta + _step(passed, weight, theta, difficulty, theta / ABILITY_SD**2, ABILITY_SD)
        mean = _means(difficulty, cohort)
        pull = (mean[cohort] - difficulty) / DIFFICULTY_SD**2
        difficulty = difficulty - _step(passed.T, weight.T, -difficulty, -theta, pull, DIFFICULTY_SD)
        shift = _shift(theta, _means(difficulty, cohort))
        theta, difficulty = theta - shift, difficulty - shift
        if np.abs(difficulty - old).max(initial=0) < CLOSE:
            break
    expected = expit(theta[:, None] - difficulty)
    information = (weight * expected * (1 - expected)).sum(axis=0)
    return Abilities(theta, difficulty, weight, expected, passed - weight * expected, information, cohort)


def without(table: ResultTable, abilities: Abilities, submitter: int) -> tuple[Floats, Floats]:
    """Return difficulties, and their variances, as they are without one submitter's runs: each (T,).

    One Newton step down from the fit: what the submitter adds to each task's score and information is taken away, the
    others' abilities stay. `tests/rotation/detection/test_ability.py` holds it against fits that never saw the runs.

    Args:
        table: what was fitted.
        abilities: the fit.
        submitter: an index into `table.submitters`.
    """
    own = table.submitter == submitter
    expected = abilities.expected[own]
    left = abilities.information - (abilities.weight[own] * expected * (1 - expected)).sum(axis=0)
    variance = 1 / (left + DIFFICULTY_SD**-2)
    score = abilities.residual[own].sum(axis=0)
    step = (score + _moved(score * variance, variance, abilities.cohort) / DIFFICULTY_SD**2) * variance
    return abilities.difficulty + np.clip(step, -MAX_STEP_LOGITS, MAX_STEP_LOGITS), variance


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out estimates: each run's ability, and difficulties fitted without its submitter.

    Attributes:
        theta: (P,) abilities, in logits.
        difficulty: (P, T) of the tasks, estimated without the results of the run's submitter.
        unknown: (P, T) their variances, in logits^2.
    """

    theta: Floats
    difficulty: Floats
    unknown: Floats


def leave_one_out(table: ResultTable, abilities: Abilities) -> LeaveOneOut:
    """Make leave-one-out estimates for all runs (`without`, for every submitter)."""
    difficulty, unknown = np.empty(table.taken.shape), np.empty(table.taken.shape)
    for submitter in range(len(table.submitters)):
        own = table.submitter == submitter
        difficulty[own], unknown[own] = without(table, abilities, submitter)
    return LeaveOneOut(ables(table.share, table.taken, difficulty, unknown), difficulty, unknown)


def ables(passed: Floats | Bools, taken: Floats | Bools, difficulty: Floats, variance: Floats) -> Floats:
    """Estimate the abilities of N runs, (N,), for given difficulties and variances of shape (T,) or (N, T).

    Each is the mode of the posterior under N(0, 1.8^2), with the curve flattened for the variance of each difficulty.
    """
    slope = np.sqrt(1 / (1 + LOGISTIC * variance)) * taken
    seen = np.where(taken, passed, 0)
    theta = np.zeros(len(passed))
    for _ in range(ROUNDS):
        expected = expit((theta[:, None] - difficulty) * slope) * taken
        score = ((seen - expected) * slope).sum(axis=1) - theta / ABILITY_SD**2
        information = (expected * (1 - expected) * slope**2).sum(axis=1) + ABILITY_SD**-2
        step = np.clip(score / information, -MAX_STEP_LOGITS, MAX_STEP_LOGITS)
        theta = theta + step
        if np.abs(step).max(initial=0) < CLOSE:
            break
    return theta


def informed(apart: LeaveOneOut, taken: Bools) -> Floats:
    """Return the Fisher information of each run's results about its ability, (P,), in 1/logits^2, without the prior."""
    slope = np.sqrt(1 / (1 + LOGISTIC * apart.unknown)) * taken
    expected = expit((apart.theta[:, None] - apart.difficulty) * slope)
    information: Floats = (expected * (1 - expected) * slope**2).sum(axis=1)
    return information


def _step(passed: Floats, weight: Floats, place: Floats, against: Floats, pull: Floats, sd: float) -> Floats:  # noqa: PLR0917
    """Return one Newton step of the row parameters for given column parameters; for tasks both signs are flipped."""
    expected = expit(place[:, None] - against)
    score = (passed - weight * expected).sum(axis=1) - pull
    information = (weight * expected * (1 - expected)).sum(axis=1) + sd**-2
    step: Floats = np.clip(score / information, -MAX_STEP_LOGITS, MAX_STEP_LOGITS)
    return step


def _means(difficulty: Floats, cohort: Ints) -> Floats:
    """Return each cohort's mean difficulty, (C,), shrunk towards 0 by its prior."""
    means: Floats = np.bincount(cohort, difficulty) / (np.bincount(cohort) + DIFFICULTY_SD**2 / COHORT_SD**2)
    return means


def _moved(steps: Floats, variance: Floats, cohort: Ints) -> Floats:
    """Return the shift of each task's cohort mean, (T,), when each task makes its own step and follows the mean."""
    size = np.bincount(cohort) + DIFFICULTY_SD**2 / COHORT_SD**2
    held = 1 - np.bincount(cohort, variance) / DIFFICULTY_SD**2 / size
    moved: Floats = (np.bincount(cohort, steps) / size / held)[cohort]
    return moved


def _shift(theta: Floats, means: Floats) -> float:
    """Return the common shift of abilities and means that maximises the priors; it changes no probability of a pass."""
    pull = theta.sum() / ABILITY_SD**2 + means.sum() / COHORT_SD**2
    return float(pull / max(len(theta) / ABILITY_SD**2 + len(means) / COHORT_SD**2, 1e-12))
