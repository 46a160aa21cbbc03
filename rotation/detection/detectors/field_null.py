"""Null distribution of a statistic that is learned from the field: from what all submitters of a rotation show. Pure.

Each submitter's estimate is taken as g = mu + delta + e. The chance error e has a computed variance. The shift mu is
common: where peers share a leak, exposed tasks look easy, and every honest submitter seems to do worse on them. The
difference delta is the submitter's own, a Student's t with mean 0 and spread tau: some honest agents differ far more
than most (K. L. Lange, R. J. A. Little and J. M. G. Taylor, *J. Amer. Statist. Assoc.* 84, 1989, 881-896). So the
computed variance is a lower bound, and the field adds what it shows beyond it.

Mu and tau are not estimated and then taken as known: they are integrated out over their posterior, and a p-value is
the tail of the predictive distribution (J. Higgins, S. Thompson and D. Spiegelhalter, *J. R. Statist. Soc. A* 172,
2009, 137-159). What joins both nulls is the prior of tau: half-Cauchy (A. Gelman, *Bayesian Analysis* 1, 2006,
515-533), whose scale is the spread that the computed null takes as known. With few submitters that guess counts, with
many the field. Statistics of disjoint parts of the results, such as sources, have a shift each and the spread in
common: a source that did not leak tells how much honest submitters differ.

Up to a third of the field may be guilty: the likelihood is that of two groups (B. Efron, *Ann. Statist.* 35, 2007,
1351-1377). Every second field is thought to have no guilty ones; else a share lies anywhere above mu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, logsumexp, ndtr

from rotation.detection.statistics.table import Floats

MIN_SUBMITTERS_FOR_NULL = 10  # below, a field tells too little of itself
GUILTY = np.linspace(0, 1 / 3, 9)  # shares of the field that may be guilty
GUILTY_CHANCES = np.append(0.5, np.full(len(GUILTY) - 1, 0.5 / (len(GUILTY) - 1)))
DEGREES = 3.0  # of Student's t: the heaviest whole tails with a variance
SHIFTS, SPREADS = 41, 31  # points of the grid of mu and tau
LOWEST, HIGHEST = 0.1, 0.8  # quantiles of the estimates between which mu lies
WIDEST = 1.5  # of tau, in standard deviations of the estimates
NEGLIGIBLE = 1e-7  # points of the posterior below it are left out

Field = tuple[Floats, Floats]
"""The estimates (S,) of submitters, and the variances (S,) of their chance errors."""


def _mixture(nodes: int, power: int) -> tuple[Floats, Floats]:
    """Return variances and weights of the normal distributions that make Student's t with a variance of 1.

    The nodes are at powers of evenly spaced quantiles: evenly spaced ones would cut off the tail beyond 1/nodes.
    """
    even = (np.arange(nodes) + 0.5) / nodes
    variances = np.asarray((DEGREES - 2) / (2 * gammaincinv(DEGREES / 2, even**power)), dtype=np.float64)
    weights = np.asarray(even ** (power - 1), dtype=np.float64)
    return variances, weights / weights.sum()


LIKELIHOOD, PREDICTION = _mixture(10, 2), _mixture(32, 3)


@dataclass(frozen=True)
class FieldNull:
    """The posterior of the shift and the spread of honest submitters, on K points.

    Attributes:
        shift: (K,) mu.
        spread: (K,) tau.
        weight: (K,) their probabilities.
        guilty: (S,) the share of the field that is expected to be guilty, as the results without each submitter's say;
            last, (S + 1,), as all results say.
    """

    shift: Floats
    spread: Floats
    weight: Floats
    guilty: Floats

    def tail(self, estimate: float, variance: float) -> float:
        """Return the p-value of an estimate with this computed variance."""
        variances, weights = PREDICTION
        sd = np.sqrt(variance + self.spread[:, None] ** 2 * variances)
        return float(ndtr((self.shift - estimate)[:, None] / sd) @ weights @ self.weight)


def learn(fields: Sequence[Field], usual: float, apart: Sequence[int] = (0,)) -> list[FieldNull]:
    """Return the null of each statistic of a field.

    Args:
        fields: the statistics.
        usual: the spread that honest submitters are thought to have beyond chance.
        apart: which statistics are of disjoint parts of the results; the spread is learned from these.
    """
    widest = WIDEST * max(max(float(est.std()), float(np.sqrt(np.median(var)))) for est, var in fields)
    spreads = widest * np.linspace(0, 1, SPREADS) ** 1.5  # finer where the prior is high
    prior = np.log(np.gradient(spreads) / (1 + (spreads / usual) ** 2))
    log_posterior, parts = prior, [_log_likelihood(*field, spreads) for field in fields]
    for part in apart:
        log_posterior = log_posterior + logsumexp(parts[part][1].sum(axis=-1), axis=(0, 2))
    nulls = []
    for (estimates, variances), (shifts, logs) in zip(fields, parts, strict=True):
        total = logs.sum(axis=-1)
        log = logsumexp(total, axis=0)
        logs_of_both = log_posterior[:, None] + log - logsumexp(log, axis=1, keepdims=True)
        weight = np.exp(logs_of_both - logsumexp(logs_of_both)).ravel()
        kept = weight > NEGLIGIBLE
        of_spread, of_shift = (grid.ravel()[kept] for grid in np.meshgrid(spreads, shifts, indexing="ij"))
        guilty = _guilty(np.concatenate([total[..., None] - logs, total[..., None]], axis=-1), prior)
        top = int(estimates.argmax())  # tells how far a leak reaches, so without it all points of the others differ
        _, of_others = _log_likelihood(np.delete(estimates, top), np.delete(variances, top), spreads)
        guilty[top] = _guilty(of_others.sum(axis=-1, keepdims=True), prior)[0]
        nulls.append(FieldNull(of_shift, of_spread, weight[kept] / weight[kept].sum(), guilty))
    return nulls


def _guilty(logs: Floats, prior: Floats) -> Floats:
    """Return the expected share of guilty ones, by the last axis of log likelihoods (GUILTY, SPREADS, SHIFTS, N)."""
    of_share = logsumexp(logs + prior[:, None, None], axis=(1, 2))
    guilty: Floats = GUILTY @ np.exp(of_share - logsumexp(of_share, axis=0))
    return guilty


def _log_likelihood(estimates: Floats, variances: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    """Return the points of mu, and each submitter's part of the log likelihood, (GUILTY, SPREADS, SHIFTS, S)."""
    low, high = (float(np.quantile(estimates, at)) for at in (LOWEST, HIGHEST))
    shifts = np.linspace(low, high, SHIFTS)
    above, sd = estimates - shifts[:, None], np.sqrt(variances)
    honest = np.zeros((len(spreads), *above.shape))
    for scale, weight in zip(*LIKELIHOOD, strict=True):
        variance = (variances + spreads[:, None] ** 2 * scale)[:, None]
        honest += weight * np.exp(-(above**2) / variance / 2) / np.sqrt(2 * np.pi * variance)
    reach = np.maximum(above.max(axis=1, keepdims=True), 1e-9)
    guilty = (ndtr(above / sd) - ndtr((above - reach) / sd)) / reach
    logs = np.log(np.array([(1 - share) * honest + share * guilty for share in GUILTY]) + 1e-300)
    return shifts, logs + np.log(GUILTY_CHANCES)[:, None, None, None] / len(estimates)
