"""Tests of the tails of sums, compared with an enumeration of all outcomes."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from rotation.detection.statistics.tails import combined, upper


@pytest.fixture(scope="module")
def sums():
    """Return fourteen variables of two outcomes each, and all sums that they can have."""
    dice = np.random.default_rng(5)
    chance, values = dice.uniform(0.05, 0.9, 14), dice.normal(0, 1, (14, 2))
    chances = np.column_stack([1 - chance, chance])
    ways = np.array(list(itertools.product((0, 1), repeat=14)))
    rows = np.arange(14)
    return values, chances, values[rows, ways].sum(axis=1), chances[rows, ways].prod(axis=1)


@pytest.mark.parametrize("tail", [0.3, 0.1, 0.01, 1e-3, 1e-4])
def test_a_tail_is_what_counting_every_outcome_gives(sums, tail):
    values, chances, totals, weights = sums
    order = np.argsort(-totals)
    at = order[np.searchsorted(np.cumsum(weights[order]), tail)]
    exact = weights[totals > totals[at]].sum() + weights[at] / 2
    assert norm.sf(upper(values, chances, totals[at])) == pytest.approx(exact, rel=0.15)


def test_near_the_mean_and_below_it_nothing_leaps(sums):
    values, chances, totals, weights = sums
    mean, sd = totals @ weights, np.sqrt(np.cov(totals, aweights=weights))
    near = [upper(values, chances, mean + step * sd) for step in np.linspace(-2, 2, 81)]
    assert np.all(np.diff(near) > 0)
    assert np.diff(near).max() < 0.1


def test_a_variance_of_its_own_makes_a_tail_heavier(sums):
    values, chances, totals, _ = sums
    assert upper(values, chances, totals.max(), 4.0) < upper(values, chances, totals.max()) - 1


def test_a_sum_that_cannot_vary_says_nothing():
    equal, rounding = np.ones((3, 2)), 1e-14 * np.array([0, 1])
    assert upper(equal, equal / 2, 3.0) == upper(equal + rounding, equal / 2, 3 + 3e-13) == 0


def test_a_sum_beyond_all_that_can_be_is_very_unlikely(sums):
    values, chances, totals, _ = sums
    assert upper(values, chances, totals.max() + 1) > upper(values, chances, totals.max())


def test_one_strong_p_value_is_not_drowned_by_others():
    assert combined([1e-6, 0.5, 1.0], [0.5, 0.3, 0.2]) == pytest.approx(2e-6, rel=0.05)
    assert combined([0.2], [0.5]) == pytest.approx(0.2)
    assert combined([0.04, 0.04], [1, 1]) == pytest.approx(0.04)
