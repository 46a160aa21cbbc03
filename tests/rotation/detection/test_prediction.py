"""Tests of what earlier rotations predict: abilities, biases and changes are told apart."""

from dataclasses import replace

import numpy as np

from rotation.detection.detectors.prediction import expected
from rotation.detection.statistics.table import ResultTable

from .worlds import World, play

WORLD = World(rotations=3, submitters=20)


def now(table: ResultTable) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return (table.rotation == table.last)[:, None] & table.taken


def test_predictions_come_true_on_average():
    month = expected(play(WORLD, 1), 3)
    old = month.taken & ~month.fresh
    assert abs((month.passed - month.usual)[old].mean()) < 0.02
    assert abs((month.passed - month.usual)[month.taken & month.fresh].mean()) < 0.05


def test_all_may_get_better_at_once():
    table = play(WORLD, 2)
    better = replace(table, passed=table.passed | (now(table) & (np.indices(table.passed.shape).sum(axis=0) % 3 == 0)))
    month = expected(better, 3)
    old = month.taken & ~month.fresh
    assert abs((month.passed - month.usual)[old].mean()) < 0.03


def test_a_months_own_results_move_no_difficulty():
    table = play(WORLD, 3)
    turned = replace(table, passed=table.passed ^ (now(table) & (np.arange(len(table.tasks)) == 120)))
    one, other = expected(table, 3), expected(turned, 3)
    assert (one.unknown[~one.fresh] == other.unknown[~one.fresh]).all()
    place = int(np.flatnonzero(one.tasks == 120)[0])
    moved = other.easiness - one.easiness
    assert np.abs(moved[:, place] - moved[:, place - 1]).max() < 0.2  # abilities move a little, the task does not


def test_lasting_biases_are_predicted_and_others_are_not():
    lasting = expected(play(replace(WORLD, own=1.5, shared=0.0, swaps=0.0), 4), 3)
    none = expected(play(replace(WORLD, own=0.0, shared=0.0, swaps=0.0), 4), 3)
    assert lasting.own.max() > 3 * none.own.max()


def test_tasks_that_change_are_seen_to():
    table = play(WORLD, 5)
    dice = np.random.default_rng(5)
    touched = dice.random(len(table.tasks)) < 0.5
    moved = np.where(dice.random(len(table.tasks)) < 0.5, True, False)
    some = now(table) & touched & (dice.random(table.passed.shape) < 0.3)
    changed = replace(table, passed=np.where(some, moved, table.passed))
    assert expected(changed, 3).change > 2 * expected(table, 3).change


def test_the_second_run_of_a_month_counts_for_nothing():
    table = play(replace(WORLD, again=1.0), 6)
    month = expected(table, 3)
    assert len(month.taken) == len(np.unique(table.submitter[table.rotation == 3]))
