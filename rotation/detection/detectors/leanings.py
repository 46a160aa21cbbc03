"""Leanings: how much better or worse than peers a submitter is on a server's tasks, or on a family's. Pure.

An honest submitter who leans has results that go together on the tasks of a group, so a cohort with many tasks of one
server may look like one that they know. Leanings are random effects: normal, one for each submitter and server and one
for each submitter and family. Their variances are estimated from all submitters' results, as components of covariance:
how much more two results have in common on tasks of one server than on others, and how much more than that on tasks
of one family. That difference is free of what a run's ability has taken away. What the submitter's own earlier
runs say of their leanings is a normal approximation of the posterior.

`expected_calls.py` estimates leanings in log calls in the same way, in units of its own.

A part of the leanings may belong to one month's agent alone. It is estimated as what two results of one run have in
common beyond what those of two runs do, and no earlier run predicts it.

Source of the estimate: components of variance by the method of moments, C. R. Henderson, *Biometrics* 9, 1953, 226-252;
of the posterior: best linear unbiased prediction, G. K. Robinson, *Statist. Sci.* 6, 1991, 15-32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Floats, Ints, ResultTable

PRIOR_WEIGHT = 100.0  # of no leanings, as information of pairs of results
MAX_LEANING_VARIANCE = 1.0  # of a kind of leanings, in logits squared
MIN_LEANING_VARIANCE = 0.005  # a smaller one is none
FREE = 1e-6  # the precision of what is common to all tasks, which ability explains


@dataclass(frozen=True)
class Leanings:
    """What is known of one submitter's G leanings before a run.

    Attributes:
        groups: (T, G) how far a leaning is on a task.
        shift: (T,) the expected sum of the leanings on a task.
        lasting: (G, G) the covariance of what lasts of them.
        passing: (G,) the variance of what is of the run's month alone.
    """

    groups: Floats
    shift: Floats
    lasting: Floats
    passing: Floats

    @property
    def covariance(self) -> Floats:
        """(G, G) of the leanings."""
        covariance: Floats = self.lasting + np.diag(self.passing)
        return covariance

    def where_unknown(self, trust: Floats, unit: float) -> Leanings:
        """Return them, in another unit, as far as results of the task itself do not tell them.

        Args:
            trust: (T,) the weight that results of the task itself have in a prediction; they tell what lasts.
            unit: of the other unit, in this one.
        """
        part = (1 - trust)[:, None]
        passing = np.flatnonzero(self.passing > 0)
        size = self.groups.shape[1]
        covariance = np.zeros((size + len(passing),) * 2)
        covariance[:size, :size] = self.lasting
        covariance[range(size, len(covariance)), range(size, len(covariance))] = self.passing[passing]
        groups = np.hstack([self.groups * part, self.groups[:, passing]])
        return Leanings(groups, unit * part[:, 0] * self.shift, unit**2 * covariance, np.zeros(len(covariance)))

    @property
    def variance(self) -> Floats:
        """(T,) the variance of the leanings on a task."""
        variance: Floats = ((self.groups @ self.covariance) * self.groups).sum(axis=1)
        return variance


@dataclass(frozen=True)
class LeaningModel:
    """The estimated distribution of leanings.

    Attributes:
        groups: (T, G) which tasks a leaning is on.
        kind: (G,) 0 for a leaning to a server, 1 for one to a family.
        lasting: (2,) the variance of each kind that lasts from month to month, in logits squared.
        passing: (2,) the variance of each kind that is of one month alone.
    """

    groups: Floats
    kind: Ints
    lasting: Floats
    passing: Floats

    @property
    def variance(self) -> Floats:
        """(T,) the variance of the leanings on a task, in logits squared."""
        return self.lasting_variance + self.passing_variance

    @property
    def lasting_variance(self) -> Floats:
        """(T,) the part of it that lasts."""
        variance: Floats = self.groups @ self.lasting[self.kind]
        return variance

    @property
    def passing_variance(self) -> Floats:
        """(T,) the part of it that is of one month alone."""
        variance: Floats = self.groups @ self.passing[self.kind]
        return variance

    def after(self, score: Floats, information: Floats) -> Leanings:
        """Return what is known of leanings after some results.

        Args:
            score: (T,) the sums of the results' residuals, less what is due to the task alone.
            information: (T,) of these results, in 1/logits squared.
        """
        common = np.column_stack([self.groups, np.ones(len(self.groups))])
        prior = np.append(1 / np.maximum(self.lasting[self.kind], MIN_LEANING_VARIANCE / 10), FREE)
        told = common.T @ (information[:, None] * common)
        posterior = np.asarray(np.linalg.inv(told + np.diag(prior)), dtype=np.float64)
        shift = self.groups @ (posterior @ (common.T @ score))[:-1]
        lasting: Floats = posterior[:-1, :-1]
        return Leanings(self.groups, shift, lasting, self.passing[self.kind])


def leanings(table: ResultTable, left: Floats, weight: Floats) -> LeaningModel:
    """Estimate how much submitters lean.

    Args:
        table: P runs on T tasks.
        left: (P, T) residuals of passes; 0 where there is no result.
        weight: (P, T) their variances.
    """
    of_server, of_family = _indicators(table.server), _indicators(table.family)
    of_both = _indicators(table.server * len(table.families) + table.family)
    of_submitter = _indicators(table.submitter).T
    at_once = _Pairs.of((of_family, of_both, of_server), left, weight)
    ever = _Pairs.of((of_family, of_both, of_server), of_submitter @ left, of_submitter @ weight)
    lasting = ever.without(at_once).variances()
    passing = np.maximum(at_once.variances() - lasting, 0)
    kind = np.repeat([0, 1], [of_server.shape[1], of_family.shape[1]])
    there = (lasting + passing > MIN_LEANING_VARIANCE)[kind]
    return LeaningModel(np.hstack([of_server, of_family])[:, there], kind[there], lasting, passing)


@dataclass(frozen=True)
class _Pairs:
    """Sums over pairs of results on two tasks, by what the tasks have in common.

    Both are (4,): a family, a family and a server (which is a part of the former), a server alone, nothing.

    Attributes:
        products: of the products of their residuals.
        weights: of the products of their variances.
    """

    products: Floats
    weights: Floats

    @classmethod
    def of(cls, groups: Sequence[Floats], left: Floats, weight: Floats) -> _Pairs:
        """Sum the pairs of each row of results (N, T); `groups` are families, families by server, and servers."""
        return cls(*(_by_common(part, groups) for part in (left, weight)))

    def without(self, others: _Pairs) -> _Pairs:
        """Leave out some of the pairs."""
        return _Pairs(self.products - others.products, self.weights - others.weights)

    def variances(self) -> Floats:
        """Estimate the variances of leanings to servers and to families, (2,), in logits squared."""
        in_family, _, in_server, apart = self.products / np.maximum(self.weights, 1e-9)
        by_family, by_both, by_server, by_nothing = self.weights
        if by_nothing <= 0:
            apart = in_server
        if by_server <= 0:
            in_server = apart
        to_server = np.clip((in_server - apart) * by_server / (by_server + PRIOR_WEIGHT), 0, MAX_LEANING_VARIANCE)
        more = in_family - apart - to_server * by_both / max(by_family, 1e-9)
        return np.array([to_server, np.clip(more * by_family / (by_family + PRIOR_WEIGHT), 0, MAX_LEANING_VARIANCE)])


def _by_common(part: Floats, groups: Sequence[Floats]) -> Floats:
    """Sum the products of two cells of a row (N, T), by what their tasks have in common."""
    single, every = float((part**2).sum()), float((part.sum(axis=1) ** 2).sum())
    family, both, server = (float(((part @ of) ** 2).sum()) for of in groups)
    return np.array([family - single, both - single, server - both, every - family - server + both])


def _indicators(groups: Ints) -> Floats:
    """Return (N, G) which of N things belong to which of the groups that occur."""
    which = np.unique(groups, return_inverse=True)[1]
    return np.eye(int(which.max(initial=-1)) + 1)[which]
