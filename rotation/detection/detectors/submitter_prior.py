"""What a submitter's own earlier runs promise of the next one: how able it is, or how many calls it makes. Pure.

A submitter mostly hands in nearly the same agent again, and now and then another one. So what their earlier runs
promise is held with Student's t of three degrees: a run close to it is drawn towards it, one far off is believed as it
is (K. L. Lange, R. J. A. Little and J. M. G. Taylor, *J. Amer. Statist. Assoc.* 84, 1989, 881-896). How close is close
is learned from everybody's months. What all peers do alike in a month, such as a new model that everyone buys, is no
news about any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Bools, Floats, Table

DEGREES = 3
INFORMED = (DEGREES + 1) / (DEGREES + 3)  # the variance of Student's score, as a part of its mean curvature
FADING = 0.5  # of what a month earlier counts
ROUNDS = 12
LIKE_MONTHS = 10.0  # runs with a past that the usual spread counts for
HALF_NORMAL, HALF_T = 0.6745, 0.7649  # medians of |x|: of a standard normal, of Student's t of three degrees


@dataclass(frozen=True)
class Habit:
    """Where each of P runs lies beside what earlier ones promised; 0, and a wide prior, where there is none.

    Attributes:
        shift: (P,) how far the promise draws the run's estimate.
        precision: (P,) the information that the promise gives at that place, in 1/unit^2.
        pull: (P,) the promise's score there: positive where a run is above it.
        wide: the standard deviation of the prior where nothing is promised.
    """

    shift: Floats
    precision: Floats
    pull: Floats
    wide: float

    def nothing(self) -> Habit:
        """Give what it is to know of no earlier run."""
        none = np.zeros_like(self.pull)
        return Habit(none, none + self.wide**-2, none, self.wide)


def habit(table: Table, estimate: Floats, information: Floats, usual: float, wide: float) -> Habit:
    """Hold every run against the earlier runs of its submitter.

    Args:
        table: P runs.
        estimate: (P,) of each run alone, drawn to 0 by a normal prior of the standard deviation `wide`.
        information: (P,) what a run's results say of it, in 1/unit^2, without that prior.
        usual: the spread of honest months, where too few were seen to tell.
        wide: the prior's standard deviation.
    """
    alone = estimate * (1 + wide**-2 / np.maximum(information, 1e-9))
    promised, known = _promised(table, alone)
    gap = np.where(known, alone - promised, 0)
    scale2 = _scale2(gap[known], information[known], usual)
    at = gap
    for _ in range(ROUNDS):
        at = gap * information / (information + _curvature(at, scale2))
    return Habit(
        np.where(known, promised + at - estimate, 0),
        np.where(known, INFORMED * _curvature(at, scale2), wide**-2),
        np.where(known, _curvature(at, scale2) * at, 0),
        wide,
    )


def _curvature(at: Floats, scale2: float) -> Floats:
    """Give by what a distance from the promise is multiplied to be Student's score."""
    return (DEGREES + 1) / (DEGREES * scale2 + at**2)


def _promised(table: Table, alone: Floats) -> tuple[Floats, Bools]:
    """Give what is expected of each run, (P,), and whether there is anything to expect it from."""
    promised, known = np.zeros(len(alone)), np.zeros(len(alone), dtype=bool)
    for submitter in range(len(table.submitters)):
        own = np.flatnonzero(table.submitter == submitter)
        ago = table.rotation[own][:, None] - table.rotation[own]
        weight = np.where(ago > 0, FADING ** np.maximum(ago, 0), 0)
        known[own] = weight.sum(axis=1) > 0
        promised[own] = weight @ alone[own] / np.maximum(weight.sum(axis=1), 1e-12)
    gap = alone - promised
    for rotation in np.unique(table.rotation):
        now = known & (table.rotation == rotation)
        for submitter in np.unique(table.submitter[now]):
            own = table.submitter == submitter
            if (now & ~own).any():
                promised[now & own] += np.median(gap[now & ~own])
    return promised, known


def _scale2(gap: Floats, information: Floats, usual: float) -> float:
    """Learn the squared scale of Student's t from what months differ by, less what each run alone is unsure of."""
    if not len(gap):
        return usual**2
    variance = (float(np.median(np.abs(gap))) / HALF_NORMAL) ** 2 - float(np.median(1 / np.maximum(information, 1e-9)))
    seen = max(variance, 0.0) * (HALF_NORMAL / HALF_T) ** 2
    return max((len(gap) * seen + LIKE_MONTHS * usual**2) / (len(gap) + LIKE_MONTHS), (usual / 2) ** 2)
