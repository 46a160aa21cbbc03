"""Joint outcomes of several months, and the projection of a statistic orthogonal to nuisance parameters. Pure.

For M months with K outcomes each, the O = K^M joint outcomes of a task are in the order of (first, …, last month).
The nuisance parameters are the differences between honest submitters: ability, call efficiency, and both on a fresh
cohort. The score of each depends on one month's outcome alone, so every mean is taken over margins and none over
(A, I, O), which gives the same figures several times as fast.

Source of the projection: the C(alpha) tests of J. Neyman, 1959.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotation.detection.statistics.table import Floats, Ints


def joint(months: list[Floats], nodes: Floats) -> Floats:
    """Return the probabilities (I, O) of the joint outcomes of all months, from each month's by node, (I, K, N)."""
    *earlier, last = months
    both = nodes[:, None]
    for month in earlier:
        both = (both[:, :, None] * month[:, None]).reshape(len(nodes), -1, nodes.shape[1])
    return (both @ last.transpose(0, 2, 1)).reshape(len(nodes), -1)


@dataclass(frozen=True)
class Effects:
    """G random effects on one kind of score, the same in some months.

    Attributes:
        on: (I, G) how far an effect is on a task.
        covariance: (G, G) of their prior, around 0.
        rows: which of the (M kinds) scores they are on.
    """

    on: Floats
    covariance: Floats
    rows: Ints

    def spread(self, slope: Floats) -> float:
        """Return the variance that the effects add to a sum of which task i grows with them by `slope` (I,).

        It is what the tasks have in common: the probabilities of a task's own outcomes hold its share already.
        """
        alone = (self.on @ self.covariance * self.on).sum(axis=1)
        total = self.on.T @ slope
        return float(total @ self.covariance @ total - slope**2 @ alone)


def projected(
    ratio: Floats, chances: Floats, scores: Floats, precision: Floats, effects: Sequence[Effects]
) -> tuple[Floats, Floats, float]:
    """Project the nuisance scores out of the statistic; give it, their weights, and the variance that they leave.

    Args:
        ratio: (I, O) the statistic.
        chances: (I, O) the probabilities of the outcomes.
        scores: (M, kinds, I, K) the nuisance scores; the second half of the kinds last over the months.
        precision: (M kinds,) the prior precision of each.
        effects: further nuisance parameters.
    """
    kinds = scores.shape[1]
    means, gains = _means(chances, scores), _means(chances * ratio, scores)
    together = _products(chances, scores) - means[:, None] * means
    gains -= means * (chances * ratio).sum(axis=1)
    across = [together[:, of.rows].sum(axis=1) @ of.on for of in effects]
    blocks = [[together.sum(axis=2) + np.diag(precision), *across]]
    for place, of in enumerate(effects):
        row = [across[place].T]
        for other, beside in enumerate(effects):
            common = together[of.rows][:, beside.rows].sum(axis=(0, 1))
            prior = np.linalg.inv(of.covariance) if place == other else 0.0
            row.append(of.on.T @ (common[:, None] * beside.on) + prior)
        blocks.append(row)
    right = np.concatenate([gains.sum(axis=1), *(gains[of.rows].sum(axis=0) @ of.on for of in effects)])
    solved = np.linalg.solve(np.block(blocks), right)
    weights, *sizes = np.split(solved, np.cumsum([len(means), *(of.on.shape[1] for of in effects)])[:-1])
    left = (weights * np.sqrt(precision)).reshape(-1, kinds)
    extra = (left[:, : kinds // 2] ** 2).sum() + (left[:, kinds // 2 :].sum(axis=0) ** 2).sum()
    values = ratio.reshape(_shape(scores)).copy()
    explained = np.einsum("ma,maik->mik", weights.reshape(-1, kinds), scores)
    for of, size in zip(effects, sizes, strict=True):
        for at in of.rows:
            explained[at // kinds] += (of.on @ size)[:, None] * scores[at // kinds, at % kinds]
    for place, month in enumerate(explained):
        values -= np.expand_dims(month, tuple(1 + axis for axis in range(len(scores)) if axis != place))
    values = values.reshape(ratio.shape)
    slope = _means(chances * values, scores) - means * (chances * values).sum(axis=1)
    spread = sum(of.spread(slope[of.rows].sum(axis=0)) for of in effects)
    return values, weights, max(float(extra) + spread, 0.0)


def _shape(scores: Floats) -> tuple[int, ...]:
    """Return the shape of outcomes (I, O) with an axis for each month."""
    return scores.shape[2], *(scores.shape[3],) * len(scores)


def _margin(mass: Floats, scores: Floats, *months: int) -> Floats:
    """Sum outcomes (I, O) over all months except `months`."""
    margin: Floats = mass.reshape(_shape(scores)).sum(
        axis=tuple(1 + axis for axis in range(len(scores)) if axis not in months)
    )
    return margin


def _means(mass: Floats, scores: Floats) -> Floats:
    """Return the means of all scores, (A, I)."""
    means = [(month * _margin(mass, scores, place)).sum(axis=2) for place, month in enumerate(scores)]
    return np.concatenate(means)


def _products(chances: Floats, scores: Floats) -> Floats:
    """Return the means of the products of any two scores, (A, A, I)."""
    rows = []
    for first, left in enumerate(scores):
        row = []
        for second, right in enumerate(scores):
            margin = _margin(chances, scores, first, second)
            if first == second:
                pushed = left * margin
            else:
                pushed = np.einsum("aik,ikl->ail", left, margin if first < second else margin.transpose(0, 2, 1))
            row.append(np.einsum("ail,bil->abi", pushed, right))
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows)
