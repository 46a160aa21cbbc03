"""Prior of a run from its submitter's earlier runs: its expected ability, or its expected number of calls. Pure.

A submitter mostly submits nearly the same agent again, and now and then another one. So the prior is a Student's t
with three degrees of freedom: a run close to the prediction is shrunk towards it, one far off is taken as it is
(K. L. Lange, R. J. A. Little and J. M. G. Taylor, *J. Amer. Statist. Assoc.* 84, 1989, 881-896). The scale is estimated
from all submitters' months. A change that all peers make in a month, such as a new model that everyone buys, is
subtracted, since it says nothing about any one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Bools, Floats, ResultTable

DEGREES = 3
INFORMED = (DEGREES + 1) / (DEGREES + 3)  # the variance of Student's score, as a part of its mean curvature
FADING = 0.5  # weight of a run relative to the one a month later
ROUNDS = 12
LIKE_MONTHS = 10.0  # weight of the usual spread, as a number of runs with a past
HALF_NORMAL, HALF_T = 0.6745, 0.7649  # medians of |x|: of a standard normal, of Student's t of three degrees


@dataclass(frozen=True)
class SubmitterPrior:
    """The prior of each of P runs from earlier runs; 0 and wide for a run without any.

    Attributes:
        shift: (P,) how far the prior shifts the run's estimate.
        precision: (P,) the information of the prior at that point, in 1/unit^2.
        pull: (P,) the score of the prior there: positive if the run is above the prediction.
        wide: the standard deviation of the prior of a run without earlier ones.
    """

    shift: Floats
    precision: Floats
    pull: Floats
    wide: float

    def nothing(self) -> SubmitterPrior:
        """Return the prior for the case that no run has earlier ones."""
        none = np.zeros_like(self.pull)
        return SubmitterPrior(none, none + self.wide**-2, none, self.wide)


def submitter_prior(
    table: ResultTable, estimate: Floats, information: Floats, usual: float, wide: float
) -> SubmitterPrior:
    """Compute the prior of every run from the earlier runs of its submitter.

    Args:
        table: P runs.
        estimate: (P,) of each run alone, shrunk to 0 by a normal prior of the standard deviation `wide`.
        information: (P,) the information of a run's results about it, in 1/unit^2, without that prior.
        usual: the spread between honest months, used where few were observed.
        wide: the prior's standard deviation.
    """
    alone = estimate * (1 + wide**-2 / np.maximum(information, 1e-9))
    promised, known = _promised(table, alone)
    gap = np.where(known, alone - promised, 0)
    scale2 = _scale2(gap[known], information[known], usual)
    at = gap
    for _ in range(ROUNDS):
        at = gap * information / (information + _curvature(at, scale2))
    return SubmitterPrior(
        np.where(known, promised + at - estimate, 0),
        np.where(known, INFORMED * _curvature(at, scale2), wide**-2),
        np.where(known, _curvature(at, scale2) * at, 0),
        wide,
    )


def _curvature(at: Floats, scale2: float) -> Floats:
    """Return the factor that turns a distance from the prediction into the score of Student's t."""
    return (DEGREES + 1) / (DEGREES * scale2 + at**2)


def _promised(table: ResultTable, alone: Floats) -> tuple[Floats, Bools]:
    """Return the prediction of each run, (P,), and whether it has earlier runs."""
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
    """Estimate the squared scale of Student's t from the differences between months, less each run's uncertainty."""
    if not len(gap):
        return usual**2
    variance = (float(np.median(np.abs(gap))) / HALF_NORMAL) ** 2 - float(np.median(1 / np.maximum(information, 1e-9)))
    seen = max(variance, 0.0) * (HALF_NORMAL / HALF_T) ** 2
    return max((len(gap) * seen + LIKE_MONTHS * usual**2) / (len(gap) + LIKE_MONTHS), (usual / 2) ** 2)
