"""Expected tool calls of a pass, predicted from peers on the task and from the submitter's own earlier runs. Pure.

Calls are a log-normal count, rounded to a whole number and capped at what the task allows, so an observation is an
interval of log calls: log n = task + run + own + noise, where *own* is a submitter's lasting difference on a task.
Every submitter is predicted from the others and from their own past, never from the run under test.

Sources. Response times in this role: W. J. van der Linden, *J. Educ. Behav. Statist.* 31, 2006, 181-204, and
S. Sinharay, *J. Educ. Behav. Statist.* 45, 2020, 1-26. Intervals by expectation and maximisation: A. P. Dempster,
N. M. Laird and D. B. Rubin, *J. Roy. Statist. Soc. B* 39, 1977, 1-38.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable

ROUNDS = 12
STEPS = 4
RUN_SD = 0.5  # how far a run's mean may lie from its peers', in log calls
LIKE_OTHERS = 8.0  # with as many passes, a task's own spread counts as much as that of all tasks
FEWEST = 0.02  # lower bound of the variance between tasks
LEAST_NOISE = 1e-3  # lower bound of the variance of a pass: a handful of passes may all be equal
OWN_BELIEF = 15.0  # how many repeated passes the average of all submitters counts for, beside a submitter's own
MOST_OWN = 0.7  # the largest share of the noise that may be a submitter's lasting difference


@dataclass(frozen=True)
class Effort:
    """Expected log calls of a pass, by run and task.

    Attributes:
        mean: (P, T) its mean, from others' passes and from the submitter's earlier ones.
        sd: (P, T) its standard deviation, including the uncertainty of the mean.
        run: (P,) how far a run's passes lie above those of others on its tasks; included in `mean`.
        information: (P,) the information of the passes about `run`, in 1/(log calls)^2, without the prior.
    """

    mean: Floats
    sd: Floats
    run: Floats
    information: Floats


def fit(table: ResultTable) -> Effort:
    """Predict the calls of every pass of the table."""
    passes = table.taken & table.passed
    low, high = _bounds(table)
    together = _together(passes, low, high, table.first)
    peers, left = _apart(table, passes, low, high, together)
    return _with_the_past(table, passes, peers, left, together.noise)


def _bounds(table: ResultTable) -> tuple[Floats, Floats]:
    """Give the bounds of log calls between which an observation lies, (P, T) each."""
    calls = np.clip(table.calls, 1, table.cap)
    low = np.where(calls <= 1, -np.inf, np.log(np.maximum(calls - 0.5, 0.5)))
    high = np.where(calls >= table.cap, np.inf, np.log(calls + 0.5))
    return low, high


@dataclass(frozen=True)
class _Together:
    """A fit of all runs at once: `log` (P, T) calls as expected within their bounds, by task and by run."""

    log: Floats
    run: Floats
    noise: Floats  # (T,) variance
    pull: float  # passes that the mean of a task's cohort counts for
    centre: Floats  # (T,) that mean


def _together(passes: Bools, low: Floats, high: Floats, first: Ints) -> _Together:
    count = passes.sum(axis=0)
    log = np.where(passes, (np.maximum(low, 0) + np.minimum(high, np.maximum(low, 0) + 0.4)) / 2, 0)
    run, task, centre = np.zeros(len(passes)), np.zeros(len(count)), np.zeros(len(count))
    variance, pull, noise = 0.1, 0.3, np.full(len(count), 0.1)
    for number in range(ROUNDS):
        spread = np.zeros_like(log)
        if number:
            log, spread = truncated(task + run[:, None], np.sqrt(noise), low, high)
            log, spread = np.where(passes, log, 0), np.where(passes, spread, 0)
        above = ((log - run[:, None]) * passes).sum(axis=0)
        centre = _by_cohort(above, count, first)
        task = (above + pull * centre) / (count + pull)
        run = ((log - task) * passes).sum(axis=1) / (passes.sum(axis=1) + variance / RUN_SD**2)
        squares = ((log - task - run[:, None]) ** 2 * passes + spread).sum(axis=0)
        free = passes.sum() - len(passes) - (count / (count + pull)).sum()
        variance = max(float(squares.sum() / max(free, 10)), LEAST_NOISE)
        noise = (squares * max(passes.sum() / max(free, 10), 1) + LIKE_OTHERS * variance) / (count + LIKE_OTHERS)
        often = count > 2  # noqa: PLR2004  # else the task's own mean says nothing of how tasks differ
        if often.sum() > LIKE_OTHERS:
            between = float((task - centre)[often].var() - (noise[often] / count[often]).mean())
            pull = variance / max(between, FEWEST)
    return _Together(log, run, noise, pull, centre)


def _by_cohort(sums: Floats, count: NDArray[np.int64], first: Ints) -> Floats:
    """Give the mean of each task's cohort, shrunk towards the overall mean where a cohort has few passes."""
    overall = sums.sum() / max(count.sum(), 1)
    _, cohort = np.unique(first, return_inverse=True)
    total, passes = np.bincount(cohort, sums), np.bincount(cohort, count)
    means: Floats = ((total + overall) / (passes + 1))[cohort]
    return means


def _apart(table: ResultTable, passes: Bools, low: Floats, high: Floats, together: _Together) -> tuple[Effort, Floats]:
    """Predict each submitter from the others alone; give the prediction and the residuals of the passes, (P, T)."""
    above = (together.log - together.run[:, None]) * passes
    sums, count = above.sum(axis=0), passes.sum(axis=0)
    mean, sd_of_task, left = (np.zeros(passes.shape) for _ in range(3))
    runs, information = np.zeros((2, len(passes)))
    for submitter in range(len(table.submitters)):
        own = np.flatnonzero(table.submitter == submitter)
        others = count - passes[own].sum(axis=0) + together.pull
        task = (sums - above[own].sum(axis=0) + together.pull * together.centre) / others
        variance = together.noise / others
        run, sd = together.run[own].copy(), np.sqrt(together.noise + variance)
        weight = passes[own] / sd**2
        for _ in range(STEPS):
            log, _ = truncated(task + run[:, None], sd, low[own], high[own])
            run = ((log - task) * weight).sum(axis=1) / (weight.sum(axis=1) + 1 / RUN_SD**2)
        mean[own], sd_of_task[own] = task + run[:, None], np.sqrt(variance)
        left[own] = np.where(passes[own], log - mean[own], 0)
        runs[own], information[own] = run, weight.sum(axis=1)
    return Effort(mean, sd_of_task, runs, information), left


def _with_the_past(table: ResultTable, passes: Bools, peers: Effort, left: Floats, noise: Floats) -> Effort:
    """Add the information of a submitter's earlier runs on the same task; `peers.sd` is the uncertainty of its mean."""
    unknown = peers.sd**2
    count, total = np.zeros(passes.shape), np.zeros(passes.shape)
    for run in range(len(passes)):
        before = (table.submitter == table.submitter[run]) & (table.rotation < table.rotation[run])
        count[run], total[run] = passes[before].sum(axis=0), left[before].sum(axis=0)
    past = total / np.maximum(count, 1)
    repeated = np.where(passes & (count > 0), left * past - unknown, 0)
    lasting = np.clip(_by_submitter(table, repeated, passes & (count > 0)), 0, MOST_OWN * float(np.median(noise)))
    own = lasting[:, None] + unknown
    moving = np.maximum(noise - lasting[:, None], (1 - MOST_OWN) * noise)
    trust = np.where(count > 0, own / (own + moving / np.maximum(count, 1)), 0)
    return Effort(peers.mean + trust * past, np.sqrt(moving + own * (1 - trust)), peers.run, peers.information)


def _by_submitter(table: ResultTable, products: Floats, both: Bools) -> Floats:
    """Give the mean product of each run's submitter, (P,), as far as their own tell it; else that of all."""
    sums = np.bincount(table.submitter, products.sum(axis=1), len(table.submitters))
    count = np.bincount(table.submitter, both.sum(axis=1), len(table.submitters))
    everybody = sums.sum() / max(count.sum(), 1)
    means: Floats = ((sums + OWN_BELIEF * everybody) / (count + OWN_BELIEF))[table.submitter]
    return means


def truncated(mean: Floats, sd: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Give the mean and the variance of a normal variable between two bounds (either may be infinite)."""
    below, above = (low - mean) / sd, (high - mean) / sd
    at_low, at_high = _density(below), _density(above)
    mass = np.maximum(ndtr(above) - ndtr(below), 1e-12)
    shift = np.clip((at_low - at_high) / mass, np.maximum(below, -8), np.minimum(above, 8))
    ends = (np.where(np.isfinite(below), below, 0) * at_low - np.where(np.isfinite(above), above, 0) * at_high) / mass
    return mean + sd * shift, sd**2 * np.clip(1 + ends - shift**2, 0, 1)


def _density(at: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * np.minimum(at**2, 700)) / np.sqrt(2 * np.pi)
    return density
