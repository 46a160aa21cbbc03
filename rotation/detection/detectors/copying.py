"""Copy detector: pairs of submitters whose runs agree too much in the tool calls of each task. Pure.

The statistic, over the tasks that both passed or both failed, is T = sum of log(1 - c + c 1[calls equal] / pi), where
pi is the probability that two independent runs need equally many calls: calls are log-normal counts, rounded and capped
at what the task allows, with an effect of each run and a task mean that leaves out both runs. Equal verdicts say
little, since honest runs share base models (the same holds for K and GBT: W. van der Linden and L. Sotaridona, *J.
Educ. Behav. Statist.* 31, 2006, 283-304).
Honest runs of one base model have similar calls too, but then also on the tasks where
they differ by one or two calls. So the correlation of a pair's calls is estimated from the tasks where they are *not*
equal, and T's tail is averaged over the posterior of that correlation: a copy leaves those tasks unlike. What all pairs
share is removed by the median and the upper quantile of their z-scores.

If the called tools are known, calls count as equal only if they are the same tools in the same order. The probability
stays that of equally many calls, which is larger, so the order can remove a suspicion and never add to one.

Subject: `A|B`, two submitters in byte order; their most similar pair of runs counts, its p-value multiplied by the
number of pairs. Effect: the share of equal calls above the expected share, among tasks that both passed or both failed.

Limits: it does not detect copies among more than half of all pairs, nor a copy with changed calls, and cannot tell a
copy from two runs of one model at temperature 0. Pairs are screened by the number of equal calls; only those more
similar than usual are tested exactly, and of these the 1,000 most similar.

Source of the bivariate normal in powers of its correlation: K. Pearson, *Phil. Trans. R. Soc. A* 195, 1900, 1-47.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.statistics.sums import set_right
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from rotation.detection.statistics.tails import MIN_P_VALUE

KIND = "copy"
COPIED = 0.3
EXACT = 1000
CHUNK = 100
MIN_LIKE_TASKS = 5  # with the same result of both
ROUNDS = 8
LIKE_OTHERS = 8.0
LEAST_SD = 0.12
TOGETHER = np.linspace(0, 0.7, 8)  # correlations of two runs' calls that are thought possible
MEAN_CALL_CORRELATION = 0.15  # before anything is seen; the prior is exponential
POWERS = 5  # of the correlation
LOOKED_AT = 1.5  # z-score of the number of equal calls from which a pair is tested exactly


@dataclass(frozen=True)
class _Month:
    """P runs of a rotation on I tasks.

    Attributes:
        submitter: (P,).
        taken, passed: (P, I).
        calls: (P, I) from 1, capped.
        sequence: (P, I) as in the table.
        cap: (I,) the last number of calls that is told apart.
        task: (P, I) mean log calls of the task, among results like the run's.
        known: (P, I) how many results that mean is made of.
        run: (P, I) what the run adds to it.
        sd: (P, I).
    """

    submitter: Ints
    taken: Bools
    passed: Bools
    calls: Ints
    sequence: Ints
    cap: Ints
    task: Floats
    known: Floats
    run: Floats
    sd: Floats


def copying(table: ResultTable, rotation: int) -> list[DetectorResult]:
    """Test every pair of submitters of a rotation."""
    month = _month(table, rotation)
    first, second = np.triu_indices(len(month.submitter), 1)
    apart = month.submitter[first] != month.submitter[second]
    first, second = first[apart], second[apart]
    like, equal, expected = (part[first, second] for part in _screen(month))
    enough = like >= MIN_LIKE_TASKS
    first, second, like, equal, expected = (part[enough] for part in (first, second, like, equal, expected))
    if not len(first):
        return []
    z = (equal - expected) / np.sqrt(np.maximum(expected * (1 - expected / like), 1e-9))
    best = np.argsort(-z, kind="stable")[:EXACT]
    best = np.sort(best[z[best] > LOOKED_AT])
    for start in range(0, len(best), CHUNK):
        chosen = best[start : start + CHUNK]
        z[chosen] = _exact(month, first[chosen], second[chosen])
    left, right = month.submitter[first], month.submitter[second]
    return _by_submitters(table.submitters, left, right, set_right(z), (equal - expected) / like)


def _by_submitters(names: tuple[str, ...], left: Ints, right: Ints, z: Floats, effect: Floats) -> list[DetectorResult]:
    """Return for each pair of submitters the test of its most similar pair of runs."""
    pair = np.minimum(left, right) * len(names) + np.maximum(left, right)
    order = np.lexsort((-z, pair))
    pairs, first, count = np.unique(pair[order], return_index=True, return_counts=True)
    best = order[first]
    p_values = np.clip(ndtr(-z[best]) * count, MIN_P_VALUE, 1)
    return [
        DetectorResult(
            KIND, f"{names[key // len(names)]}|{names[key % len(names)]}", float(p), float(z[run]), float(effect[run])
        )
        for key, run, p in zip(pairs, best, p_values, strict=True)
    ]


def _month(table: ResultTable, rotation: int) -> _Month:
    runs = np.flatnonzero(table.rotation == rotation)
    near = np.flatnonzero(table.rotation > rotation - 4)
    tasks = np.flatnonzero(table.taken[runs].any(axis=0))
    cells = np.ix_(near, tasks)
    taken, passed = table.taken[cells], table.passed[cells]
    cap = np.minimum(table.cap[tasks], np.where(taken, table.calls[cells], 0).max(axis=0, initial=0) + 1)
    calls = np.clip(table.calls[cells], 1, cap)
    log, places = np.log(calls), np.searchsorted(near, runs)
    made = np.full((4, len(runs), len(tasks)), LEAST_SD)  # what was not taken is never counted
    for state in (True, False):
        counted = taken & (passed == state)
        efforts = _efforts(log, counted.astype(float), places)
        made = np.where(counted[places], efforts, made)
    sequence = table.sequence[np.ix_(runs, tasks)]
    return _Month(table.submitter[runs], taken[places], passed[places], calls[places], sequence, cap, *made)


def _efforts(log: Floats, counted: Floats, places: Ints) -> Floats:
    """Return task, known, run and sd of `_Month`, (4, P, I), from passes or from failures of all months that count."""
    count, made = counted.sum(axis=0), counted.sum(axis=1)
    overall = float((log * counted).sum() / max(counted.sum(), 1))
    task, run = np.full(log.shape[1], overall), np.zeros(len(log))
    for _ in range(ROUNDS):
        task = (((log - run[:, None]) * counted).sum(axis=0) + overall) / (count + 1)
        run = ((log - task) * counted).sum(axis=1) / (made + 1)
    squares = ((log - task - run[:, None]) ** 2 * counted).sum(axis=0)
    variance = float(squares.sum() / max(counted.sum() - log.shape[1] - len(log), 10))
    spread = (squares + (LIKE_OTHERS + 1) * variance) / (np.maximum(count - 1, 0) + LIKE_OTHERS)
    sd = np.maximum(np.sqrt(spread), LEAST_SD)
    return np.array(np.broadcast_arrays(task, count + 1, run[places, None], sd))


def _screen(month: _Month) -> tuple[Floats, Floats, Floats]:
    """Return for all pairs of runs (P, P) the equal verdicts, those with equal calls, and how many are expected."""
    like, equal, expected = np.zeros((3, len(month.submitter), len(month.submitter)))
    mean = month.task + month.run
    for task, cap in enumerate(month.cap):
        edges = np.log(np.arange(1, cap) + 0.5)
        below = ndtr((edges - mean[:, task, None]) / month.sd[:, task, None])
        mass = np.diff(below, axis=1, prepend=0, append=1)
        made = month.calls[:, task] + (cap + 1) * month.sequence[:, task]
        hot = made[:, None] == np.unique(made)
        for state in (True, False):
            chosen = (month.taken[:, task] & (month.passed[:, task] == state)).astype(float)[:, None]
            like += chosen @ chosen.T
            expected += (mass * chosen) @ (mass * chosen).T
            equal += (hot * chosen) @ (hot * chosen).T
    return like, equal, expected


def _exact(month: _Month, first: Ints, second: Ints) -> Floats:
    """Return the z-scores (Q,) of pairs of runs."""
    alike = month.taken[first] & month.taken[second] & (month.passed[first] == month.passed[second])
    as_many = alike & (month.calls[first] == month.calls[second])
    same = as_many & (month.sequence[first] == month.sequence[second])
    chance, seen = np.zeros((2, len(TOGETHER), *alike.shape))
    for power, (equal, as_seen) in enumerate(_powers(month, first, second)):
        chance += TOGETHER[:, None, None] ** power * equal
        seen += TOGETHER[:, None, None] ** power * as_seen
    chance, seen = np.clip(chance, 1e-4, 1 - 1e-4), np.maximum(seen, 1e-9)
    gain = (np.log1p(COPIED * (1 / chance[0] - 1)) - np.log(1 - COPIED)) * alike
    total = (gain * same).sum(axis=1)
    unlike = np.where(alike & ~as_many, np.log(seen) - np.log1p(-chance), 0).sum(axis=2)
    weights = np.exp(unlike - unlike.max(axis=0) - TOGETHER[:, None] / MEAN_CALL_CORRELATION)
    tails = np.array([ndtr(-_two_point(gain, row, total)) for row in chance])
    averaged = (weights * tails).sum(axis=0) / weights.sum(axis=0)
    z: Floats = -ndtri(np.clip(averaged, MIN_P_VALUE, 1 - MIN_P_VALUE))
    return z


def _powers(month: _Month, first: Ints, second: Ints) -> Iterator[tuple[Floats, Floats]]:
    """Yield the power-series terms, in the correlation, of the probabilities of equal calls and of the observed calls.

    The correlation is of log calls in Q pairs of runs; each is of shape (Q, I).
    """
    edges, parts = np.log(np.arange(1, int(month.cap.max(initial=1))) + 0.5), []
    own = np.log(month.calls) - month.run
    known = np.maximum(month.known[first] - 2, 1)  # both are in it, where they are alike
    task = (month.task[first] * month.known[first] - own[first] - own[second]) / known
    for run in (first, second):
        mean, sd = task + month.run[run], month.sd[run]
        x = np.clip((edges - mean[..., None]) / sd[..., None], -8, 8)
        inside = np.arange(1, len(edges) + 1) < month.cap[:, None]
        parts.append((x, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) * inside, np.where(inside, ndtr(x), 1)))
    picked = [month.calls[run][..., None] - 1 for run in (first, second)]
    before, hermite = [np.zeros(x.shape) for x, _, _ in parts], [np.ones(x.shape) for x, _, _ in parts]
    for power in range(POWERS):
        masses = []
        for side, (x, density, below) in enumerate(parts):
            if not power:
                masses.append(np.diff(below, axis=2, prepend=0, append=1))
                continue
            masses.append(np.diff(hermite[side] * density, axis=2, prepend=0, append=0) / np.sqrt(power))
            following = (x * hermite[side] - np.sqrt(power - 1) * before[side]) / np.sqrt(power)
            before[side], hermite[side] = hermite[side], following
        left, right = masses
        seen = [np.take_along_axis(mass, place, 2)[..., 0] for mass, place in zip(masses, picked, strict=True)]
        yield (left * right).sum(axis=2), seen[0] * seen[1]


def _two_point(gain: Floats, chance: Floats, seen: Floats) -> Floats:
    """Return the z-scores (Q,) of sums of two-valued variables worth `gain` (Q, I): saddlepoint formula of tails.py."""
    mean = (gain * chance).sum(axis=1)
    sd = np.sqrt(np.maximum((gain**2 * chance * (1 - chance)).sum(axis=1), 1e-12))
    gain = gain / sd[:, None]
    far = (np.clip(seen, 0.01, None) - mean) / sd
    most = gain.sum(axis=1) - mean / sd
    far = np.minimum(far, most * 0.98)
    tilt = np.clip(far, -3, 6)
    for _ in range(40):
        tilted = chance / (chance + (1 - chance) * np.exp(-np.clip(tilt[:, None] * gain, -500, 500)))
        slope = (gain * (tilted - chance)).sum(axis=1)
        curvature = np.maximum((gain**2 * tilted * (1 - tilted)).sum(axis=1), 1e-9)
        step = np.clip((far - slope) / curvature, -1.5, 1.5)
        tilt = np.clip(tilt + step, -30, 40)
        if np.abs(step).max(initial=0) < 1e-7:  # noqa: PLR2004 - of a standard deviation
            break
    grown = np.log1p(chance * np.expm1(np.clip(tilt[:, None] * gain, -500, 500))).sum(axis=1)
    root = np.sign(tilt) * np.sqrt(np.maximum(2 * (tilt * (far + mean / sd) - grown), 1e-12))
    skewness = (gain**3 * chance * (1 - chance) * (1 - 2 * chance)).sum(axis=1)
    near = np.abs(tilt) < 0.02  # noqa: PLR2004 - r* would divide nothing by nothing
    safe = np.where(near, 1.0, root)
    moved = safe + np.log(np.where(near, 1.0, tilt * np.sqrt(curvature) / safe)) / safe
    return np.where(near, far - skewness / 6 * (far**2 - 1), moved)
