"""Tests of sums of outcomes: exact and approximate tail probabilities, uniform draws, and calibrated z-scores."""

from itertools import product

import numpy as np
from scipy.stats import binom

from rotation.detection.statistics.sums import FEW, reach, set_right, uniform_draws


def test_a_tail_is_exact():
    gain, chances, seen = np.array([1.0, 2.0, -0.5]), np.array([[0.3, 0.6, 0.2], [0.5, 0.5, 0.5]]), np.array([1, 0, 0])
    tail = np.zeros(2)
    for outcome in product([0, 1], repeat=3):
        if gain @ outcome >= gain @ seen:
            tail += np.where(np.array(outcome) == 1, chances, 1 - chances).prod(axis=1)
    assert np.allclose(reach(gain, chances, seen == 1), tail)


def test_for_many_variables_the_tail_is_approximate():
    many = FEW + 100
    seen = np.arange(many) < many * 0.4
    tail = reach(np.ones(many), np.full((1, many), 0.3), seen)[0]
    assert np.isclose(tail, binom.sf(seen.sum() - 1, many, 0.3), rtol=0.5)


def test_uniform_draws_are_repeatable_and_even():
    fallen = uniform_draws(500, 40)
    assert (fallen == uniform_draws(500, 40)).all()
    assert 0 < fallen.min() < 0.001
    assert 0.999 < fallen.max() < 1
    assert abs(np.corrcoef(fallen, rowvar=False) - np.eye(40)).max() < 0.2
    assert np.allclose(np.histogram(fallen, 10, (0, 1))[0] / fallen.size, 0.1, atol=0.01)


def test_no_z_grows_where_all_are_set_right():
    z = np.linspace(-1, 6, 40)
    assert (set_right(z) <= z).all()
    assert set_right(np.empty(0)).shape == (0,)
