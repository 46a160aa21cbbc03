"""The upper bound of leak detection: the power of a detector that knows the world's true parameters.

The oracle knows the suspect's ability and biases, each task's difficulty and usual effort, the share that would be
known and the effect of knowing; it does not know which tasks are known. Per task, the likelihood ratio of "known" to
"not known" over the months in which it was exposed is mixed with the share, and the product over tasks is the most
powerful statistic (J. Neyman and E. S. Pearson, *Phil. Trans. R. Soc. A* 231, 1933, 289-337). It is compared with the
same statistic of honest months, at the level that Holm leaves the first of twenty submitters.

Worlds are those of `tests/rotation/detection/worlds.py` with two simplifications, both in the oracle's favour: effort
is neither rounded to whole calls nor capped, and ability does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MONTHS = 3
LEVEL = 0.01 / 20
HONEST_DRAWS = 4000
KNOWING = 0.95  # how often a known task is passed, at least


def limits(world: Any, known: float, shortcut: float, cases: int = 150, seed: int = 5) -> list[float]:
    """Return the share of cases in which a leak is found by each of MONTHS months.

    Args:
        world: a `World`.
        known: the share of exposed tasks that the suspect knows.
        shortcut: by which their calls on known tasks are multiplied.
        cases: how many are played.
        seed: of the random numbers.
    """
    dice = np.random.default_rng(seed)
    found = np.zeros((cases, MONTHS), dtype=bool)
    for case in range(cases):
        found[case] = _found(world, known, np.log(shortcut) / world.effort, dice)
    return [float(share) for share in np.logical_or.accumulate(found, axis=1).mean(axis=0)]


def _found(world: Any, known: float, faster: float, dice: np.random.Generator) -> Bools:
    """Play one suspect (and HONEST_DRAWS honest months of theirs); (MONTHS,) whether each month's statistic is rare."""
    exposed = _exposed(world)
    count = exposed.shape[1]
    hard = dice.normal(0, np.hypot(world.difficulty, world.of_family), count)
    able = dice.normal(0, world.ability) + dice.normal(0, np.hypot(world.own, world.shared), count)
    chance = 1 / (1 + np.exp(hard - able))
    better = np.maximum(chance, KNOWING)
    knows = dice.random(count) < known
    hit, miss = np.log(better / chance), np.log((1 - better) / (1 - chance))

    def ratios(rows: int, cheats: Bools) -> Floats:
        passed = dice.random((rows, count)) < np.where(cheats, better, chance)
        effort = dice.normal(0, 1, (rows, count)) + faster * cheats  # in units of the noise
        return np.asarray(np.where(passed, hit + faster * effort - faster**2 / 2, miss))

    honest, guilty = np.zeros((HONEST_DRAWS, count)), np.zeros((1, count))
    found = np.zeros(MONTHS, dtype=bool)
    for month, at in enumerate(exposed):
        honest += at * ratios(HONEST_DRAWS, np.zeros(count, dtype=bool))
        guilty += at * ratios(1, knows & at)
        usual, theirs = (np.log1p(known * np.expm1(sums)).sum(axis=1) for sums in (honest, guilty))
        found[month] = (usual >= theirs).mean() <= LEVEL
    return found


def _exposed(world: Any) -> Bools:
    """Return in which of the months each task is exposed, (MONTHS, T): live then, and live before."""
    first = np.repeat(np.arange(2 - world.life, MONTHS), world.cohort)  # by month, the first with a leak being 1
    months = np.arange(1, MONTHS + 1)[:, None]
    return np.asarray((first < months) & (first > months - world.life))
