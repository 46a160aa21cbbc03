"""Tests of the projection: means over margins equal means over all outcomes."""

import math

import numpy as np
import pytest

from rotation.detection.statistics.projection import Effects, joint, projected
from rotation.detection.statistics.table import Floats

TASKS, NODES, KINDS = 3, 5, 4


def made_up(months: int, outcomes: int) -> tuple[list[Floats], Floats, Floats]:
    """Make the probabilities of each month's outcomes by node, the nodes' weights, and the scores."""
    dice = np.random.default_rng(months)
    by_month = [dice.dirichlet(np.ones(outcomes), (TASKS, NODES)).transpose(0, 2, 1) for _ in range(months)]
    return by_month, dice.dirichlet(np.ones(NODES), TASKS), dice.normal(size=(months, KINDS, TASKS, outcomes))


def digits(months: int, outcomes: int) -> list[tuple[int, ...]]:
    return list(np.ndindex((outcomes,) * months))


@pytest.mark.parametrize(("months", "outcomes"), [(1, 4), (2, 3), (3, 3)])
def test_months_are_independent_given_the_node_and_stand_in_order(months, outcomes):
    by_month, nodes, _ = made_up(months, outcomes)
    chances = joint(by_month, nodes)
    assert np.allclose(chances.sum(axis=1), 1)
    for place, outcome in enumerate(digits(months, outcomes)):
        each = [month[:, one] for month, one in zip(by_month, outcome, strict=True)]
        assert np.allclose(chances[:, place], (math.prod(each[1:], start=each[0]) * nodes).sum(axis=1))


@pytest.mark.parametrize(("months", "outcomes"), [(1, 4), (2, 3), (3, 3)])
def test_what_is_left_goes_together_with_no_nuisance_of_which_nothing_is_known(months, outcomes):
    by_month, nodes, scores = made_up(months, outcomes)
    chances, ratio = joint(by_month, nodes), np.random.default_rng(9).normal(size=(TASKS, outcomes**months))
    precision = np.full(months * KINDS, 1e-9)
    left, weights, extra = projected(ratio, chances, scores, precision, [])
    whole = np.array(
        [
            [[kind[task][outcome[month]] for outcome in digits(months, outcomes)] for task in range(TASKS)]
            for month in range(months)
            for kind in scores[month]
        ]
    )
    assert np.allclose(left, ratio - np.einsum("a,aio->io", weights, whole))
    mean = (chances * left).sum(axis=1)
    together = np.einsum("io,io,aio->ai", chances, left, whole) - (chances * whole).sum(axis=2) * mean
    if months * KINDS <= TASKS * (outcomes**months - 1):
        assert np.allclose(together.sum(axis=1), 0, atol=1e-6)
    assert 0 <= extra < 1e-6


@pytest.mark.parametrize(("months", "outcomes"), [(1, 4), (2, 3), (3, 3)])
def test_an_effect_on_all_tasks_is_a_nuisance_like_any_that_all_months_share(months, outcomes):
    """A random effect on every task has the score of the first kind, summed over the months."""
    by_month, nodes, scores = made_up(months, outcomes)
    chances, ratio = joint(by_month, nodes), np.random.default_rng(8).normal(size=(TASKS, outcomes**months))
    precision = np.full(months * KINDS, 0.7)
    known = Effects(np.ones((TASKS, 1)), np.array([[0.5]]), np.arange(0, months * KINDS, KINDS))
    left, weights, extra = projected(ratio, chances, scores, precision, [known])
    whole = [
        np.array([[kind[task][outcome[month]] for outcome in digits(months, outcomes)] for task in range(TASKS)])
        for month in range(months)
        for kind in scores[month]
    ]
    whole.append(sum(whole[::KINDS]))
    mean = (chances * ratio).sum(axis=1, keepdims=True)
    centred = [score - (chances * score).sum(axis=1, keepdims=True) for score in whole]
    information = np.array([[(chances * one * two).sum() for two in centred] for one in centred])
    gains = np.array([(chances * (ratio - mean) * score).sum() for score in centred])
    prior = np.diag([*precision, 2.0])
    expected = np.linalg.solve(information + prior, gains)
    assert np.allclose(weights, expected[:-1])
    assert np.allclose(left, ratio - sum(weight * score for weight, score in zip(expected, whole, strict=True)))
    lasting = (weights.reshape(months, KINDS)[:, KINDS // 2 :].sum(axis=0) ** 2).sum() * 0.7
    passing = (weights.reshape(months, KINDS)[:, : KINDS // 2] ** 2).sum() * 0.7
    grow = (chances * (left - (chances * left).sum(axis=1, keepdims=True)) * centred[-1]).sum(axis=1)  # by task
    assert np.isclose(grow.sum(), 2.0 * expected[-1])
    assert np.isclose(extra, max(lasting + passing + (grow.sum() ** 2 - (grow**2).sum()) / 2, 0))


def test_an_effect_on_one_month_is_a_nuisance_of_that_month_alone():
    """On every task and with the precision of a nuisance parameter, it takes away as much as that parameter does."""
    by_month, nodes, scores = made_up(2, 3)
    chances, ratio = joint(by_month, nodes), np.random.default_rng(7).normal(size=(TASKS, 9))
    precision = np.full(2 * KINDS, 0.7)
    doubled = Effects(np.ones((TASKS, 1)), np.array([[1 / 0.7]]), np.array([KINDS + 1]))
    halved = precision.copy()
    halved[KINDS + 1] = 0.35
    left, _, _ = projected(ratio, chances, scores, precision, [doubled])
    assert np.allclose(left, projected(ratio, chances, scores, halved, [])[0])
