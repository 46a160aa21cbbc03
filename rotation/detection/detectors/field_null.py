"""Null distribution of a statistic that is learned from the field: from what all submitters of a rotation show. Pure.

Each submitter's estimate is taken as g = mu + delta + e. The chance error e has a computed variance. The shift mu is
common: where peers share a leak, exposed tasks look easy, and every honest submitter seems to do worse on them. The
difference delta is the submitter's own, with mean 0 and spread tau. So the computed variance is a lower bound, and the
field adds what it shows beyond it (G. C. Tiao and W. Y. Tan, *Biometrika* 52, 1965, 37-53).

Mu and tau are not estimated and then taken as known: they are integrated out over their posterior, and a p-value is
the tail of the predictive distribution (J. Higgins, S. Thompson and D. Spiegelhalter, *J. R. Statist. Soc. A* 172,
2009, 137-159). What joins both nulls is the prior of tau: half-Cauchy (A. Gelman, *Bayesian Analysis* 1, 2006,
515-533), whose scale is the spread that the computed null takes as known. With few submitters that guess counts, with
many the field.

Up to a third of the field may be guilty: the likelihood is that of two groups (B. Efron, *Ann. Statist.* 35, 2007,
1351-1377), where a share of 0 to 1/3 lies anywhere above mu. In the prediction, delta has the tails of Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, ndtr

from rotation.detection.statistics.table import Floats

MIN_SUBMITTERS = 10  # below, a field tells too little of itself
GUILTY = np.linspace(0, 1 / 3, 9)  # shares of the field that may be guilty, each as likely as the others
DEGREES = 4.0  # of Student's t: the heaviest whole tails with a variance that is not nearly infinite
SHIFTS, SPREADS = 41, 31  # points of the grid of mu and tau
LOWEST, HIGHEST = 0.1, 0.8  # quantiles of the estimates between which mu lies
WIDEST = 1.5  # of tau, in standard deviations of the estimates
NODES = 32  # of the scale of Student's t
SCALES = (DEGREES - 2) / (2 * gammaincinv(DEGREES / 2, (np.arange(NODES) + 0.5) / NODES))
NEGLIGIBLE = 1e-7  # points of the posterior below it are left out


@dataclass(frozen=True)
class FieldNull:
    """The posterior of the shift and the spread of honest submitters, on K points.

    Attributes:
        shift: (K,) mu.
        spread: (K,) tau.
        weight: (K,) their probabilities.
    """

    shift: Floats
    spread: Floats
    weight: Floats

    def tail(self, estimate: float, variance: float) -> float:
        """Return the p-value of an estimate with this computed variance."""
        sd = np.sqrt(variance + self.spread[:, None] ** 2 * SCALES)
        return float(ndtr((self.shift - estimate)[:, None] / sd).mean(axis=1) @ self.weight)


def learn(estimates: Floats, variances: Floats, usual: float) -> FieldNull:
    """Return the null of a field.

    Args:
        estimates: (S,) one for each submitter.
        variances: (S,) of their chance errors.
        usual: the spread that honest submitters are thought to have beyond chance.
    """
    widest = WIDEST * max(float(estimates.std()), float(np.sqrt(np.median(variances))))
    low, high = (float(np.quantile(estimates, at)) for at in (LOWEST, HIGHEST))
    grid = np.meshgrid(np.linspace(0, widest, SPREADS), np.linspace(low, high, SHIFTS))
    spread, shift = grid[0].ravel(), grid[1].ravel()
    variance, above = variances + spread[:, None] ** 2, estimates - shift[:, None]
    honest = np.exp(-(above**2) / variance / 2) / np.sqrt(2 * np.pi * variance)
    reach, sd = np.maximum(above.max(axis=1, keepdims=True), 1e-9), np.sqrt(variances)
    guilty = (ndtr(above / sd) - ndtr((above - reach) / sd)) / reach
    logs = np.array([np.log((1 - share) * honest + share * guilty + 1e-300).sum(axis=1) for share in GUILTY])
    weight = np.exp(logs - logs.max()).sum(axis=0) / (1 + (spread / usual) ** 2)
    weight /= weight.sum()
    kept = weight > NEGLIGIBLE
    return FieldNull(shift[kept], spread[kept], weight[kept] / weight[kept].sum())
