"""Tests of the figures beside the findings, each compared with a simulation or with a published number."""

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.detectors.display_statistics import best_of, jump_z, largest, person_fit
from rotation.detection.statistics.table import Bools, Floats


def runs(seed: int, count: int = 2000, tasks: int = 60) -> tuple[Bools, Floats]:
    """Simulate honest runs; give their results and the probabilities at the estimated abilities."""
    dice = np.random.default_rng(seed)
    difficulty, ability = dice.normal(0, 1.3, tasks), dice.normal(0, 1, count)
    passed = dice.random((count, tasks)) < expit(ability[:, None] - difficulty)
    estimate = np.zeros(count)
    for _ in range(50):
        chance = expit(estimate[:, None] - difficulty)
        slope = (passed - chance).sum(1) - estimate / 9
        estimate += np.clip(slope / ((chance * (1 - chance)).sum(1) + 1 / 9), -1, 1)
    return passed, expit(estimate[:, None] - difficulty)


def test_the_jump_is_the_textbook_z_of_two_proportions():
    assert jump_z((40, 60), (100, 100)) == pytest.approx(0.2 / np.sqrt(0.5 * 0.5 * 0.02))
    assert jump_z((60, 40), (100, 100)) == pytest.approx(-2.828427)


@pytest.mark.parametrize(("passed", "taken"), [((0, 0), (10, 10)), ((10, 10), (10, 10)), ((0, 5), (0, 10))])
def test_no_jump_is_given_where_none_can_be(passed, taken):
    assert jump_z(passed, taken) is None


def test_honest_runs_fit_like_a_standard_normal_although_their_ability_was_estimated():
    passed, chance = runs(1)
    fit = person_fit(passed, chance, np.ones(passed.shape, dtype=bool), np.ones(passed.shape))
    assert abs(fit.mean()) < 0.1
    assert fit.std() == pytest.approx(1, abs=0.06)
    assert (fit < -2.326).mean() < 0.025


def test_passing_hard_tasks_and_failing_easy_ones_is_a_bad_fit():
    chance = np.linspace(0.05, 0.95, 40)[None, :]
    backwards, usual = chance < 0.5, chance >= 0.5
    everything = np.ones(chance.shape, dtype=bool)
    assert person_fit(backwards, chance, everything, 1.0 * everything)[0] < -8
    assert person_fit(usual, chance, everything, 1.0 * everything)[0] > 2


def test_tasks_that_a_run_was_not_given_say_nothing_about_its_fit():
    passed, chance = runs(2, count=5)
    taken = np.random.default_rng(3).random(passed.shape) < 0.5
    changed = np.where(taken, passed, ~passed)
    slope = np.ones(passed.shape)
    np.testing.assert_allclose(person_fit(passed, chance, taken, slope), person_fit(changed, chance, taken, slope))
    assert np.isnan(person_fit(passed, chance, np.zeros(passed.shape, dtype=bool), slope)).all()


@pytest.mark.parametrize(("k", "mean"), [(1, 0.0), (2, 0.56419), (3, 0.84628), (5, 1.16296), (10, 1.53875)])
def test_the_largest_of_k_normals_is_as_in_the_tables(k, mean):
    assert largest(k) == pytest.approx(mean, abs=1e-5)


def test_the_best_of_five_stands_as_far_above_the_mean_as_simulated():
    dice = np.random.default_rng(5)
    chance = expit(dice.normal(0, 1.3, 200))
    scores = (dice.random((4000, 5, 200)) < chance).mean(2)
    assert best_of(chance, 5) == pytest.approx((scores.max(1) - scores.mean(1)).mean(), abs=0.001)
    assert best_of(chance, 1) == pytest.approx(0, abs=1e-12)
    assert best_of(chance[:0], 5) == 0
