"""Tests of continuity: earlier runs of another agent count for little, and those of the same agent count."""

from dataclasses import replace

import numpy as np
import pytest

from rotation.detection.detectors.continuity import Residuals, continuity, earlier_runs
from rotation.detection.detectors.leaked_tasks import contrasts
from rotation.detection.statistics.table import Floats, ResultTable

from .worlds import World, play, table_of

SUBMITTERS, TASKS, MONTHS = 12, 100, 4
HABIT, NOISE = 0.06, 0.1
CHANGED = 3  # the month from which the first submitter sends another agent


def residuals(habit: float = HABIT) -> tuple[ResultTable, Residuals]:
    """Make residuals of agents with lasting habits, one run a submitter and month."""
    dice = np.random.default_rng(4)
    habits = np.tile(dice.normal(0, np.sqrt(habit), (SUBMITTERS, TASKS)), (MONTHS, 1))
    rotation = np.repeat(np.arange(1, MONTHS + 1), SUBMITTERS)
    submitter = np.tile(np.arange(SUBMITTERS), MONTHS)
    habits[(submitter == 0) & (rotation >= CHANGED)] = dice.normal(0, np.sqrt(habit), TASKS)
    left = habits + dice.normal(0, np.sqrt(NOISE), habits.shape)
    whole = np.ones(left.shape, dtype=bool)
    names = tuple(f"s{number:02}" for number in range(SUBMITTERS))
    table = table_of(whole, whole, runs=names * MONTHS, submitters=names, submitter=submitter, rotation=rotation)
    precision = np.full(left.shape, 1 / NOISE)
    return table, Residuals(left * precision, precision, np.full(len(left), habit), np.zeros(left.shape))


def counts(table: ResultTable, carried: Floats, submitter: int) -> Floats:
    """Return how much each month of a submitter counts for each of their months, (MONTHS, MONTHS)."""
    own = np.flatnonzero(table.submitter == submitter)
    return carried[np.ix_(own, own)]


def test_runs_of_the_same_agent_count():
    table, of = residuals()
    carried = continuity(table, of)
    assert np.all(carried[earlier_runs(table) == 0] == 0)
    others = [counts(table, carried, submitter)[1:, 0] for submitter in range(1, SUBMITTERS)]
    assert np.mean(others) > 0.9


def test_earlier_runs_of_another_agent_count_for_little_and_later_ones_count():
    table, of = residuals()
    by_month = counts(table, continuity(table, of), 0)
    assert np.all(by_month[CHANGED - 1 :, : CHANGED - 1] < 0.2)
    assert by_month[CHANGED, CHANGED - 1] > 0.8


def test_where_nothing_is_a_habit_all_runs_count_alike():
    table, of = residuals(habit=0.0)
    counted = continuity(table, of)[earlier_runs(table) > 0]
    assert counted.min() > 0.7
    assert np.isclose(counts(table, continuity(table, of), 0)[1, 0], counts(table, continuity(table, of), 1)[1, 0])


def test_peers_that_are_wrong_about_a_task_are_no_habit():
    table, of = residuals()
    wrong = replace(of, habit=np.full(len(of.habit), 1e-9), unknown=np.full(of.unknown.shape, HABIT))
    assert continuity(table, wrong)[earlier_runs(table) > 0].min() > 0.7
    # all that two runs have in common is what is wrong in the prediction
    shared = continuity(table, replace(of, unknown=np.full(of.unknown.shape, HABIT)))
    assert np.mean(counts(table, shared, 1)[1:, 0]) < 0.5


@pytest.mark.slow
@pytest.mark.full
def test_habits_in_calls_do_not_spread_the_scores_of_the_honest():
    """Without them in the null, the standard deviation of these scores is 1.06, and their mean .13."""
    world = World(rotations=3, call_leaning=0.3, uneven=True, servers=5)
    z = [one.month.z for seed in range(6) for rotation in (2, 3) for one in contrasts(play(world, seed), rotation)]
    assert np.std(z) < 1.04
    assert np.mean(z) < 0.1
