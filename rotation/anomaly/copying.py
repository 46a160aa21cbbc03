"""Runs of two submitters that agree too much in how many calls each task took: near-duplicate runs. Pure.

Of the tasks where both passed or both failed, T = sum of log(1 - c + c 1[calls equal] / pi), pi being the chance that
two independent runs need equally many: calls are log-normal counts, rounded and capped at what the task allows, with a
mean by task and by run. Passing alike says little, since shared base models do that to honest runs (so do K and GBT:
W. van der Linden and L. Sotaridona, *J. Educ. Behav. Statist.* 31, 2006, 283-304). What calls all pairs share is taken
out by the pairs' own median and upper quantile. Subject: `A|B`, two submitters in the order of their bytes; of their
pairs of runs the most alike counts, its p-value multiplied by how many there are. Effect: the share of equal calls
above what was expected, among tasks that both passed or both failed.

What it cannot see: copies among more than half of all pairs; a copy with the calls changed; whether two runs are alike
because one was copied or because both are one model at temperature 0. More than 5,000 pairs are screened first by the
number of equal calls, and only those most alike are tested exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rotation.anomaly.sums import set_right
from rotation.anomaly.table import Bools, Floats, Ints, Table
from rotation.anomaly.tested import Tested

KIND = "copy"
COPIED = 0.3
EXACT = 5000
CHUNK = 500
FEWEST = 5  # tasks with a like result
ROUNDS = 8
LIKE_OTHERS = 8.0
LEAST_SD = 0.12
SMALLEST = 1e-15


@dataclass(frozen=True)
class _Month:
    """P runs of a rotation on I tasks with up to N calls.

    Attributes:
        submitter: (P,).
        mass: (P, I, N) the chance of each number of calls, given that the task was passed or not as it was.
        taken, passed: (P, I).
        calls: (P, I) from 0, capped.
    """

    submitter: Ints
    mass: Floats
    taken: Bools
    passed: Bools
    calls: Ints


def copying(table: Table, rotation: int) -> list[Tested]:
    """Test every pair of submitters of a rotation."""
    month = _month(table, rotation)
    one, other = np.triu_indices(len(month.submitter), 1)
    apart = month.submitter[one] != month.submitter[other]
    one, other = one[apart], other[apart]
    like, equal, expected = _screen(month)
    like, equal, expected = (part[one, other] for part in (like, equal, expected))
    enough = like >= FEWEST
    one, other, like, equal, expected = (part[enough] for part in (one, other, like, equal, expected))
    if not len(one):
        return []
    z = (equal - expected) / np.sqrt(np.maximum(expected * (1 - expected / like), 1e-9))
    best = np.sort(np.argsort(-z, kind="stable")[:EXACT])
    for start in range(0, len(best), CHUNK):
        chosen = best[start : start + CHUNK]
        z[chosen] = _exact(month, one[chosen], other[chosen])
    left, right = month.submitter[one], month.submitter[other]
    return _by_submitters(table.submitters, left, right, set_right(z), (equal - expected) / like)


def _by_submitters(names: tuple[str, ...], left: Ints, right: Ints, z: Floats, effect: Floats) -> list[Tested]:
    """Give each pair of submitters its most alike pair of runs."""
    pair = np.minimum(left, right) * len(names) + np.maximum(left, right)
    order = np.lexsort((-z, pair))
    pairs, first, count = np.unique(pair[order], return_index=True, return_counts=True)
    best = order[first]
    p_values = np.clip(ndtr(-z[best]) * count, SMALLEST, 1)
    return [
        Tested(
            KIND, f"{names[key // len(names)]}|{names[key % len(names)]}", float(p), float(z[run]), float(effect[run])
        )
        for key, run, p in zip(pairs, best, p_values, strict=True)
    ]


def _month(table: Table, rotation: int) -> _Month:
    here = np.flatnonzero(table.rotation == rotation)
    tasks = np.flatnonzero(table.taken[here].any(axis=0))
    cells = np.ix_(here, tasks)
    cap = table.cap[tasks]
    mass = np.zeros((*table.taken[cells].shape, int(cap.max(initial=1))))
    for state in (True, False):
        mean, sd = _efforts(table, tasks, here, state=state)
        chosen = table.taken[cells] & (table.passed[cells] == state)
        mass[chosen] = _masses(mean, sd, cap)[chosen]
    calls = np.clip(table.calls[cells], 1, cap) - 1
    return _Month(table.submitter[here], mass, table.taken[cells], table.passed[cells], calls)


def _efforts(table: Table, tasks: Ints, here: Ints, *, state: bool) -> tuple[Floats, Floats]:
    """Give the mean (P, I) and the sd (I,) of log calls, of passes or of failures, from all months so far."""
    near = np.flatnonzero(table.rotation > table.rotation[here].max(initial=0) - 4)
    cells = np.ix_(near, tasks)
    counted = (table.taken[cells] & (table.passed[cells] == state)).astype(float)
    log = np.log(np.clip(table.calls[cells], 1, table.cap[tasks]))
    count, made = counted.sum(axis=0), counted.sum(axis=1)
    overall = float((log * counted).sum() / max(counted.sum(), 1))
    task, run = np.full(len(tasks), overall), np.zeros(len(near))
    for _ in range(ROUNDS):
        task = (((log - run[:, None]) * counted).sum(axis=0) + overall) / (count + 1)
        run = ((log - task) * counted).sum(axis=1) / (made + 1)
    squares = ((log - task - run[:, None]) ** 2 * counted).sum(axis=0)
    variance = float(squares.sum() / max(counted.sum() - len(tasks) - len(near), 10))
    spread = (squares + (LIKE_OTHERS + 1) * variance) / (np.maximum(count - 1, 0) + LIKE_OTHERS)
    places = np.searchsorted(near, here)
    return task + run[places, None], np.maximum(np.sqrt(spread), LEAST_SD)


def _masses(mean: Floats, sd: Floats, cap: Ints) -> Floats:
    """Give the chances (P, I, N) of 1, 2, … calls; the last that is allowed takes in all above."""
    counts = np.arange(1, int(cap.max(initial=1)) + 1)
    below = ndtr((np.log(counts + 0.5) - mean[..., None]) / sd[:, None])
    below[:, counts >= cap[:, None]] = 1
    return np.diff(below, axis=2, prepend=0)


def _screen(month: _Month) -> tuple[Floats, Floats, Floats]:
    """Give for all pairs of runs (P, P) how many results are alike, how many with equal calls, and the expected."""
    like, equal, expected = np.zeros((3, len(month.submitter), len(month.submitter)))
    counts = np.arange(month.mass.shape[2])
    for state in (True, False):
        chosen = (month.taken & (month.passed == state)).astype(float)
        like += chosen @ chosen.T
        for task in range(chosen.shape[1]):
            mass = month.mass[:, task] * chosen[:, task, None]
            hot = (month.calls[:, task, None] == counts) * chosen[:, task, None]
            expected += mass @ mass.T
            equal += hot @ hot.T
    return like, equal, expected


def _exact(month: _Month, one: Ints, other: Ints) -> Floats:
    """Give the z of pairs of runs (Q,)."""
    alike = month.taken[one] & month.taken[other] & (month.passed[one] == month.passed[other])
    chance = np.clip(np.einsum("qin,qin->qi", month.mass[one], month.mass[other]), 1e-4, 1 - 1e-4)
    same = alike & (month.calls[one] == month.calls[other])
    gain = (np.log1p(COPIED * (1 / chance - 1)) - np.log(1 - COPIED)) * alike
    return _two_point(gain, chance, (gain * same).sum(axis=1))


def _two_point(gain: Floats, chance: Floats, seen: Floats) -> Floats:
    """Give the z (Q,) of sums of variables worth `gain` (Q, I) with a chance: the saddlepoint formula of tails.py."""
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
