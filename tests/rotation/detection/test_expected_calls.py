"""Tests of the expected number of calls of a pass: recovered in a known world, through rounding and caps."""

import numpy as np
import pytest

from rotation.detection.detectors.continuity import earlier_runs
from rotation.detection.detectors.expected_calls import Effort, of_peers, truncated, with_the_past
from rotation.detection.statistics.table import Floats, ResultTable

from .worlds import table_of

SUBMITTERS, TASKS, MONTHS = 16, 90, 3
NOISE, OWN = 0.25, 0.3


def fit(table: ResultTable) -> Effort:
    """Predict calls from all earlier runs alike, with every result counted as one."""
    return with_the_past(table, of_peers(table, np.ones(table.taken.shape)), earlier_runs(table))


def a_table(own: float = OWN, seed: int = 3) -> tuple[ResultTable, Floats]:
    """Make a run per submitter and month on the same tasks, everything passed; and its expected log calls."""
    dice = np.random.default_rng(seed)
    task, run = dice.normal(1.4, 0.5, TASKS), dice.normal(0, 0.25, SUBMITTERS)
    truth = np.tile(task + run[:, None] + dice.normal(0, own, (SUBMITTERS, TASKS)), (MONTHS, 1))
    calls = np.rint(np.exp(truth + dice.normal(0, NOISE, truth.shape))).astype(np.int64)
    names = tuple(f"s{number:02}" for number in range(SUBMITTERS))
    whole = np.ones(truth.shape, dtype=bool)
    table = table_of(
        whole,
        whole,
        runs=names * MONTHS,
        submitters=names,
        submitter=np.tile(np.arange(SUBMITTERS), MONTHS),
        rotation=np.repeat(np.arange(1, MONTHS + 1), SUBMITTERS),
        calls=np.clip(calls, 1, 12),
    )
    return table, truth


def distances(table: ResultTable, truth: Floats, rotation: int) -> Floats:
    """Return how far the true values of a rotation's runs lie from the predicted ones."""
    now = table.rotation == rotation
    return (truth - fit(table).mean)[now]


def test_a_submitters_own_past_tells_what_a_task_takes_them():
    table, truth = a_table()
    first, last = (float(np.sqrt((distances(table, truth, month) ** 2).mean())) for month in (1, MONTHS))
    assert last < 0.75 * first


def test_a_prediction_says_how_sure_it_is():
    table, truth = a_table()
    predicted = fit(table)
    inside = (truth > np.log(1.6)) & (truth < np.log(9))
    off = np.sqrt((truth - predicted.mean) ** 2 + NOISE**2) / predicted.sd
    for month in (1, MONTHS):
        rows = (table.rotation == month)[:, None] & inside
        assert np.sqrt((off[rows] ** 2).mean()) == pytest.approx(1, abs=0.2)


def test_without_individual_habits_the_past_changes_little():
    table, truth = a_table(own=0.0)
    assert np.sqrt((distances(table, truth, MONTHS) ** 2).mean()) < 0.12


def test_of_agents_that_repeat_themselves_exactly_nothing_follows_for_the_others():
    """Every second submitter makes the same calls each month, as a script does; the others' calls vary as before."""
    table, truth = a_table(own=0.0)
    scripts = table.submitter % 2 == 0
    for month in range(1, MONTHS + 1):
        table.calls[scripts & (table.rotation == month)] = table.calls[scripts & (table.rotation == 1)]
    predicted, inside = fit(table), (truth > np.log(1.6)) & (truth < np.log(9))
    off = (np.log(table.calls) - predicted.mean) / predicted.sd
    last = inside & (~scripts & (table.rotation == MONTHS))[:, None]
    assert off[last].std() < 1.25


def test_failed_tasks_count_for_nothing():
    table, _ = a_table()
    table.passed[:, ::7] = np.arange(len(table.runs))[:, None] % 2 == 0
    before = fit(table)
    table.calls[1::2, ::7] = 11
    assert np.array_equal(fit(table).mean, before.mean)


def test_a_run_is_predicted_without_its_submitter():
    table, _ = a_table()
    mine = table.submitter == 0
    before = fit(table).mean[mine]
    table.calls[mine, 0] = 12
    assert np.abs(fit(table).mean[mine][:1, 1:] - before[:1, 1:]).max() < 0.1  # the first month: no past to learn from


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.2), (0.5, np.inf), (-0.3, 0.4), (2.5, 2.9)])
def test_a_normal_between_bounds_has_the_moments_that_draws_have(low, high):
    draws = np.random.default_rng(1).normal(0.1, 0.8, 3_000_000)
    draws = draws[(draws > low) & (draws < high)]
    mean, variance = truncated(np.array(0.1), np.array(0.8), np.array(low), np.array(high))
    assert float(mean) == pytest.approx(draws.mean(), abs=0.01)
    assert float(variance) == pytest.approx(draws.var(), abs=0.01)
