"""Weights of repeated results: an agent that repeats itself says nothing new of a task. Pure.

A submitter who stays with an agent takes a task again each month that it is live. An agent with chance in it draws a
new result each time; a script, or a model at temperature 0, gives much of the old one again. Counted as new results,
those would make a task's difficulty and its usual calls look better known than they are.

A repeated result equals the one before it (the same outcome with as many calls) either because it is that result
again, a share q of the time, or by chance, as two submitters' results do. So q = (equal - chance) / (1 - chance),
estimated for each submitter from all of their repeated results, and each of these counts as 1 - q results, whether it
is equal or not: a weight that depended on the outcome would shift what is estimated.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rotation.detection.statistics.table import Floats, ResultTable


def weights(table: ResultTable) -> Floats:
    """Return how many results each one counts for, (P, T), from 0 to 1; a submitter's first of a task counts 1."""
    weight = np.ones(table.taken.shape)
    rotations = (np.flatnonzero(table.rotation == rotation) for rotation in np.unique(table.rotation))
    equal, both = _equal(table, [pair for runs in rotations for pair in pairwise(runs.tolist())])
    chance = equal / both if both else 0.0
    for submitter in range(len(table.submitters)):
        own = np.flatnonzero(table.submitter == submitter)
        again = np.cumsum(table.taken[own], axis=0) > 1
        equal, both = _equal(table, list(pairwise(own.tolist())))
        if both and chance < 1:
            repeated = min(max((equal / both - chance) / (1 - chance), 0.0), 1.0)
            weight[own] = np.where(again, 1 - repeated, 1.0)
    return weight


def _equal(table: ResultTable, pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """Count the results that are equal in pairs of runs, and the tasks that both runs took."""
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    both = table.taken[left] & table.taken[right]
    same = (table.passed[left] == table.passed[right]) & (table.calls[left] == table.calls[right])
    return int((both & same).sum()), int(both.sum())
