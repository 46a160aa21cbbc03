"""Expected tool calls of a pass, predicted from peers on the task and from the submitter's own earlier runs. Pure.

Calls are a log-normal count, rounded to a whole number and capped at what the task allows, so an observation is an
interval of log calls: log n = task + run + own + noise, where *own* is a submitter's lasting difference on a task.
Every submitter is predicted from the others and from their own past, never from the run under test. What a submitter's
passes of a server or family have in common is a leaning (`leanings`), which fresh tasks have too.

Sources. Response times in this role: W. J. van der Linden, *J. Educ. Behav. Statist.* 31, 2006, 181-204, and
S. Sinharay, *J. Educ. Behav. Statist.* 45, 2020, 1-26. Intervals by expectation and maximisation: A. P. Dempster,
N. M. Laird and D. B. Rubin, *J. Roy. Statist. Soc. B* 39, 1977, 1-38.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rotation.detection.detectors.continuity import Residuals
from rotation.detection.detectors.leanings import Leanings, leanings
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable

ROUNDS = 12
STEPS = 4
RUN_SD = 0.5  # how far a run's mean may lie from its peers', in log calls
LIKE_OTHERS = 8.0  # with as many passes, a task's own spread counts as much as that of all tasks
MIN_TASK_VARIANCE = 0.02  # between tasks
LEAST_NOISE = 1e-3  # lower bound of the variance of a pass: a handful of passes may all be equal
UNIT = 0.35  # of leanings, in log calls: about the noise of a pass
OWN_PRIOR_WEIGHT = 15.0  # how many repeated passes the average of all submitters counts for, beside a submitter's own
MOST_OWN = 0.7  # the largest share of the noise that may be a submitter's lasting difference


@dataclass(frozen=True)
class Peers:
    """Log calls of a pass as others' passes predict them, by run and task.

    Attributes:
        passes: (P, T) which results are passes.
        mean: (P, T) the prediction.
        unknown: (P, T) its variance.
        noise: (T,) the variance of a pass.
        left: (P, T) the residuals of passes, 0 elsewhere.
        run: (P,) how far a run's passes lie above those of others on its tasks; included in `mean`.
        information: (P,) the information of the passes about `run`, in 1/(log calls)^2, without the prior.
    """

    passes: Bools
    mean: Floats
    unknown: Floats
    noise: Floats
    left: Floats
    run: Floats
    information: Floats

    def residuals(self, habit: Floats) -> Residuals:
        """Return what runs did beyond the prediction, for submitters of whom habits of this variance (P,) last."""
        precision = self.passes / np.maximum(self.noise - habit[:, None], (1 - MOST_OWN) * self.noise)
        return Residuals(self.left * precision, precision, habit, self.unknown)

    def lasting(self, table: ResultTable, counts: Floats) -> Floats:
        """Estimate, of the submitter of each run, the variance of lasting differences on a task, (P,)."""
        count, total = counts @ self.passes, counts @ self.left
        both = self.passes & (count > 0)
        products = np.where(both, self.left * total / np.maximum(count, 1e-9) - self.unknown, 0)
        kept = both * counts.max(axis=1, initial=0)[:, None]
        return np.clip(_by_submitter(table, products * kept, kept), 0, MOST_OWN * float(np.median(self.noise)))


@dataclass(frozen=True)
class Effort:
    """Expected log calls of a pass, by run and task.

    Attributes:
        mean: (P, T) its mean, from others' passes and from the submitter's earlier ones.
        sd: (P, T) its standard deviation, including the uncertainty of the mean.
        run: (P,) how far a run's passes lie above those of others on its tasks; included in `mean`.
        information: (P,) the information of the passes about `run`, in 1/(log calls)^2, without the prior.
        trust: (P, T) the weight of the submitter's earlier passes of the task.
        leaning: what is known of each run's leanings in calls, in log calls.
    """

    mean: Floats
    sd: Floats
    run: Floats
    information: Floats
    trust: Floats
    leaning: tuple[Leanings, ...]


def of_peers(table: ResultTable, weight: Floats) -> Peers:
    """Predict the calls of every pass from other submitters alone.

    Args:
        table: P runs.
        weight: (P, T) how many results each one counts for (`rotation.detection.statistics.repeats`).
    """
    passes = table.taken & table.passed
    low, high = _bounds(table)
    together = _together(passes * weight, low, high, table.first)
    return _apart(table, passes, low, high, together)


def _bounds(table: ResultTable) -> tuple[Floats, Floats]:
    """Return the bounds of log calls between which an observation lies, (P, T) each."""
    calls = np.clip(table.calls, 1, table.cap)
    low = np.where(calls <= 1, -np.inf, np.log(np.maximum(calls - 0.5, 0.5)))
    high = np.where(calls >= table.cap, np.inf, np.log(calls + 0.5))
    return low, high


@dataclass(frozen=True)
class _Together:
    """A fit of all runs at once: `log` (P, T) calls as expected within their bounds, by task and by run."""

    counted: Floats  # (P, T) how many passes each result counts for
    log: Floats
    run: Floats
    noise: Floats  # (T,) variance
    pull: float  # passes that the mean of a task's cohort counts for
    centre: Floats  # (T,) that mean


def _together(counted: Floats, low: Floats, high: Floats, first: Ints) -> _Together:
    count = counted.sum(axis=0)
    log = np.where(counted > 0, (np.maximum(low, 0) + np.minimum(high, np.maximum(low, 0) + 0.4)) / 2, 0)
    run, task, centre = np.zeros(len(counted)), np.zeros(len(count)), np.zeros(len(count))
    variance, pull, noise = 0.1, 0.3, np.full(len(count), 0.1)
    for number in range(ROUNDS):
        spread = np.zeros_like(log)
        if number:
            log, spread = truncated(task + run[:, None], np.sqrt(noise), low, high)
            log, spread = np.where(counted > 0, log, 0), np.where(counted > 0, spread, 0)
        above = ((log - run[:, None]) * counted).sum(axis=0)
        centre = _by_cohort(above, count, first)
        task = (above + pull * centre) / (count + pull)
        run = ((log - task) * counted).sum(axis=1) / (counted.sum(axis=1) + variance / RUN_SD**2)
        squares = (((log - task - run[:, None]) ** 2 + spread) * counted).sum(axis=0)
        free = counted.sum() - len(counted) - (count / (count + pull)).sum()
        variance = max(float(squares.sum() / max(free, 10)), LEAST_NOISE)
        noise = (squares * max(counted.sum() / max(free, 10), 1) + LIKE_OTHERS * variance) / (count + LIKE_OTHERS)
        often = count > 2  # noqa: PLR2004  # else the task's own mean says nothing of how tasks differ
        if often.sum() > LIKE_OTHERS:
            between = float((task - centre)[often].var() - (noise[often] / count[often]).mean())
            pull = variance / max(between, MIN_TASK_VARIANCE)
    return _Together(counted, log, run, noise, pull, centre)


def _by_cohort(sums: Floats, count: Floats, first: Ints) -> Floats:
    """Return the mean of each task's cohort, shrunk towards the overall mean where a cohort has few passes."""
    overall = sums.sum() / max(count.sum(), 1)
    _, cohort = np.unique(first, return_inverse=True)
    total, passes = np.bincount(cohort, sums), np.bincount(cohort, count)
    means: Floats = ((total + overall) / (passes + 1))[cohort]
    return means


def _apart(table: ResultTable, passes: Bools, low: Floats, high: Floats, together: _Together) -> Peers:
    """Predict each submitter from the others alone."""
    above = (together.log - together.run[:, None]) * together.counted
    sums, count = above.sum(axis=0), together.counted.sum(axis=0)
    mean, unknown, left = (np.zeros(passes.shape) for _ in range(3))
    runs, information = np.zeros((2, len(passes)))
    for submitter in range(len(table.submitters)):
        own = np.flatnonzero(table.submitter == submitter)
        others = count - together.counted[own].sum(axis=0) + together.pull
        task = (sums - above[own].sum(axis=0) + together.pull * together.centre) / others
        variance = together.noise / others
        run, sd = together.run[own].copy(), np.sqrt(together.noise + variance)
        weight = passes[own] / sd**2
        for _ in range(STEPS):
            log, _ = truncated(task + run[:, None], sd, low[own], high[own])
            run = ((log - task) * weight).sum(axis=1) / (weight.sum(axis=1) + 1 / RUN_SD**2)
        mean[own], unknown[own] = task + run[:, None], variance
        left[own] = np.where(passes[own], log - mean[own], 0)
        runs[own], information[own] = run, weight.sum(axis=1)
    return Peers(passes, mean, unknown, together.noise, left, runs, information)


def with_the_past(table: ResultTable, peers: Peers, counts: Floats) -> Effort:
    """Add the information of a submitter's earlier runs: on the same task, and on others of its server and family.

    Args:
        table: P runs.
        peers: the prediction from others.
        counts: (P, P) how much an earlier run counts for a run (`continuity`).
    """
    passes, noise = peers.passes, peers.noise
    count, total = counts @ passes, counts @ peers.left
    past = total / np.maximum(count, 1e-9)
    lasting = peers.lasting(table, counts)
    weight = passes / (noise + peers.unknown)
    model = leanings(table, UNIT * peers.left * weight, UNIT**2 * weight)
    of_task = np.maximum(lasting[:, None] - UNIT**2 * model.lasting_variance, 0)
    own = of_task + peers.unknown
    gone = UNIT**2 * model.passing_variance
    kept = np.maximum(lasting[:, None], UNIT**2 * model.lasting_variance)
    moving = np.maximum(noise - kept - gone, (1 - MOST_OWN) * noise)
    trust = np.where(count > 0, own / (own + moving / np.maximum(count, 1e-9)), 0)
    shift, variance, known = np.zeros(passes.shape), np.zeros(passes.shape), []
    for run, before in enumerate(counts):
        plain = 1 + own[run] * (before @ weight)
        leaning = model.after((before @ (weight * peers.left)) * UNIT / plain, UNIT**2 * (before @ weight) / plain)
        leaning = leaning.where_unknown(trust[run], UNIT)
        shift[run] = leaning.shift - (leaning.shift @ weight[run]) / max(float(weight[run].sum()), 1e-9)
        variance[run] = leaning.variance
        known.append(leaning)
    mean = peers.mean + trust * past + shift
    sd = np.sqrt(moving + own * (1 - trust) + variance)
    return Effort(mean, sd, peers.run, peers.information, trust, tuple(known))


def _by_submitter(table: ResultTable, products: Floats, both: Floats) -> Floats:
    """Return the mean product of each run's submitter, (P,), as far as their own tell it; else that of all."""
    sums = np.bincount(table.submitter, products.sum(axis=1), len(table.submitters))
    count = np.bincount(table.submitter, both.sum(axis=1), len(table.submitters))
    everybody = sums.sum() / max(count.sum(), 1)
    means: Floats = ((sums + OWN_PRIOR_WEIGHT * everybody) / (count + OWN_PRIOR_WEIGHT))[table.submitter]
    return means


def truncated(mean: Floats, sd: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of a normal variable between two bounds (either may be infinite)."""
    below, above = (low - mean) / sd, (high - mean) / sd
    at_low, at_high = _density(below), _density(above)
    mass = np.maximum(ndtr(above) - ndtr(below), 1e-12)
    shift = np.clip((at_low - at_high) / mass, np.maximum(below, -8), np.minimum(above, 8))
    ends = (np.where(np.isfinite(below), below, 0) * at_low - np.where(np.isfinite(above), above, 0) * at_high) / mass
    return mean + sd * shift, sd**2 * np.clip(1 + ends - shift**2, 0, 1)


def _density(at: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * np.minimum(at**2, 700)) / np.sqrt(2 * np.pi)
    return density
