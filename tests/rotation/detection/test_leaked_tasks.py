"""Tests of the leak detector: who knows tasks is found, who only improved is not flagged."""

from dataclasses import replace

import numpy as np
import pytest

from rotation.detection.detectors.leaked_tasks import Study, contrasts, leak, smallest, window

from .worlds import World, Wrong, flagged, play

pytestmark = pytest.mark.slow

WORLD = World(effort=0.28)
GUILTY = "who000"


def test_a_submitter_who_knows_half_of_the_kept_tasks_is_found_and_nobody_else_and_the_share_is_estimated():
    table = play(WORLD, 1, Wrong(known=0.5))
    assert flagged(leak, table) == flagged(leak, table, 4) == [GUILTY]
    [found] = [test for test in leak(table, 4) if test.subject == GUILTY]
    low, high = found.interval
    assert 0 < low < 0.5 < high <= 1
    assert low < found.effect < high


@pytest.mark.parametrize("better", [pytest.param(1.5, marks=pytest.mark.full), 3.0])
def test_a_much_better_model_is_no_leak(better):
    assert all(not flagged(leak, play(WORLD, seed, Wrong(better=better))) for seed in range(3))


def test_a_model_that_needs_fewer_calls_everywhere_is_no_leak():
    table = play(WORLD, 2)
    efficient = (table.submitter == 0) & (table.rotation == 3)
    calls = np.where(efficient[:, None], np.maximum(1, np.rint(table.calls * 0.6)).astype(np.int64), table.calls)
    assert GUILTY not in flagged(leak, replace(table, calls=calls))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in (2, 3))])
@pytest.mark.parametrize(
    "world", [WORLD, replace(WORLD, submitters=5, harder=1.0), replace(WORLD, shared=0.9, bases=2)]
)
def test_the_honest_are_let_be(world, seed):
    assert flagged(leak, play(world, seed)) == []


def test_below_five_submitters_nobody_is_judged_but_the_detectable_share_is_given():
    table = play(replace(WORLD, submitters=4, absence=0.0), 1)
    assert leak(table, 3) == ()
    shares = smallest(table, 3)
    assert set(shares) == set(table.submitters)
    assert all(share is None or 0 < share <= 1 for share in shares.values())


def test_at_a_stricter_level_only_larger_leaks_are_detectable():
    [one] = [found for found in contrasts(play(WORLD, 1), 3) if found.submitter == GUILTY]
    assert one.month.smallest(0.05) < one.month.smallest(0.0005)


def test_many_runs_in_a_month_are_no_more_suspicious_than_one():
    table = play(replace(WORLD, again=1.0), 3)
    [one] = [found for found in contrasts(table, 2) if found.submitter == "who001"]
    study = Study(table.until(2))
    runs = study.runs(1, 2)
    assert len(runs) == 2
    assert one.month.z == max(window(study, np.array([run])).z for run in runs)


def test_every_outcome_has_a_chance_and_they_add_up():
    study = Study(play(WORLD, 5))
    for chain in study.chains(len(study.table.runs) - 1):
        made = window(study, chain)
        for chances in (made.chances, made.known):
            assert np.all(chances >= 0)
            assert np.allclose(chances.sum(axis=1), 1)
