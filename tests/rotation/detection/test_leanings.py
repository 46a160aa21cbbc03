"""Tests of leanings: their variances are estimated from results, earlier runs predict them, and they are no leak."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rotation.detection.detectors.leaked_tasks import Study, contrasts
from rotation.detection.detectors.leanings import LeaningModel

from .worlds import World, play

LEANING = World(leaning=0.6, uneven=True)
SEEDS = range(3)


@cache
def variances(world: World) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the mean estimated variances: by server and by family, (2,), that last, and of one month, (2,)."""
    models = [Study(play(world, seed)).leaning for seed in SEEDS]
    return np.mean([(model.lasting, model.passing) for model in models], axis=0)


@pytest.mark.full
@pytest.mark.slow
def test_leanings_to_servers_and_families_are_told_apart():
    (servers, families), _ = variances(LEANING)
    assert 0.15 < servers < 0.4
    assert 0.15 < families < 0.4
    (servers, families), _ = variances(World(of_both=0.6))
    assert servers < 0.03
    assert 0.15 < families < 0.4


@pytest.mark.slow
def test_where_nobody_leans_next_to_nothing_is_estimated():
    assert np.all(variances(World()) < 0.03)


@pytest.mark.slow
def test_leanings_of_base_models_that_change_every_month_do_not_last():
    lasting, passing = variances(replace(LEANING, rebased=True, swaps=1.0))
    assert np.all(passing > 0.05)
    assert np.all(lasting < variances(LEANING)[0] - 0.05)


def test_earlier_results_shift_what_is_expected_of_a_group_towards_them():
    on = np.array([[1.0], [1.0], [0.0], [0.0]])
    model = LeaningModel(on, np.array([0]), lasting=np.array([0.5, 0]), passing=np.array([0.1, 0]))
    before = model.after(np.zeros(4), np.zeros(4))
    assert np.allclose(before.shift, 0)
    assert np.allclose(before.variance, [0.6, 0.6, 0, 0])
    after = model.after(np.array([2.0, 2.0, -2.0, -2.0]), np.full(4, 4.0))
    # with a free mean, the contrast of two groups of eight units of information each has the information of four
    assert np.allclose(after.shift, [0.4 / (1 / 0.5 + 4) * 10, 0.4 / (1 / 0.5 + 4) * 10, 0, 0], rtol=1e-3)
    assert np.allclose(after.variance, [1 / (1 / 0.5 + 4) + 0.1, 1 / (1 / 0.5 + 4) + 0.1, 0, 0], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.full
def test_leanings_do_not_spread_the_scores_of_the_honest():
    """Without them in the null, the standard deviation of these scores is 1.06."""
    world = World(rotations=3, leaning=1.0, uneven=True, servers=5)
    z = [one.month.z for seed in range(6) for rotation in (2, 3) for one in contrasts(play(world, seed), rotation)]
    assert np.std(z) < 1
