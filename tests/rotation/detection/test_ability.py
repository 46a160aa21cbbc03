"""Tests of estimated abilities and difficulties: recovered where known, also with a submitter left out."""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from rotation.detection.statistics.ability import fit, leave_one_out, without
from rotation.detection.statistics.table import Floats, ResultTable

from .worlds import table_of

RUNS, TASKS = 20, 120


def a_table(seed: int = 1) -> tuple[ResultTable, Floats, Floats]:
    """Make one rotation of a Rasch world, a run a submitter, a tenth of the results missing; and its truth."""
    dice = np.random.default_rng(seed)
    theta, difficulty = dice.normal(0, 1, RUNS), dice.normal(0, 1.3, TASKS)
    taken = dice.random((RUNS, TASKS)) < 0.9
    passed = dice.random((RUNS, TASKS)) < expit(theta[:, None] - difficulty)
    return table_of(taken, passed), theta, difficulty


def test_known_abilities_and_difficulties_are_found_again():
    table, theta, difficulty = a_table()
    found = fit(table)
    assert np.corrcoef(found.theta, theta)[0, 1] > 0.9
    assert np.corrcoef(found.difficulty, difficulty)[0, 1] > 0.85


def test_missing_results_count_for_nothing():
    table, _, _ = a_table()
    other = fit(replace(table, passed=table.passed | ~table.taken))
    assert np.array_equal(fit(table).theta, other.theta)
    assert not other.residual[~table.taken].any()


def test_a_run_that_passed_everything_has_a_finite_ability():
    table, _, _ = a_table()
    passed = table.passed.copy()
    passed[0] = True
    found = fit(replace(table, passed=passed))
    assert found.theta[0] == found.theta.max() < 8


def test_without_a_submitter_is_as_if_they_had_never_run():
    table, _, _ = a_table()
    whole = fit(table)
    for gone in range(RUNS):
        difficulty, variance = without(table, whole, gone)
        kept = np.arange(RUNS) != gone
        others = replace(
            table,
            runs=tuple(name for name in table.runs if name != table.runs[gone]),
            submitter=table.submitter[kept],
            rotation=table.rotation[kept],
            taken=table.taken[kept],
            passed=table.passed[kept],
            calls=table.calls[kept],
            exposed=table.exposed[kept],
        )
        again = fit(others)
        shift = (difficulty - again.difficulty).mean()  # the scale may move as one: it changes no chance
        assert np.abs(difficulty - again.difficulty - shift).max() < 0.25 * np.sqrt(variance).max()


def test_every_run_is_held_against_the_others():
    table, _, _ = a_table()
    whole = fit(table)
    held = leave_one_out(table, whole)
    assert np.array_equal(held.difficulty[3], without(table, whole, 3)[0])
    assert np.abs(held.theta - whole.theta).max() < 0.5
