"""Tests of the detectors of broken tasks and verifiers: a wave of better models is neither."""

from dataclasses import replace

import numpy as np
import pytest

from rotation.detection.detectors.broken_task import task
from rotation.detection.detectors.prediction import expected
from rotation.detection.statistics.table import ResultTable

from .worlds import World, Wrong, flagged, play

pytestmark = pytest.mark.slow

WORLD = World(rotations=3)


def passed_by(table: ResultTable, share: float) -> int:
    """Name the task that this share is expected to pass."""
    month = expected(table, 3)
    far = np.where(month.fresh, np.inf, np.abs(month.usual.mean(axis=0) - share))
    return int(month.tasks[far.argmin()])


@pytest.mark.parametrize("seed", [5, 6])
def test_a_broken_verifier_is_found(seed):
    hard = passed_by(play(WORLD, seed), 0.3)
    broken = play(WORLD, seed, Wrong(broken=hard))
    assert flagged(task, broken) == [broken.tasks[hard]]
    assert next(test for test in task(broken, 3) if test.subject == broken.tasks[hard]).effect > 0.5


@pytest.mark.parametrize("seed", [7, 8])
def test_a_broken_task_is_found(seed):
    honest = play(WORLD, seed)
    easy = passed_by(honest, 0.75)
    broken = honest.passed.copy()
    broken[honest.rotation == 3, easy] = False
    assert flagged(task, replace(honest, passed=broken)) == [honest.tasks[easy]]


def test_a_wave_of_better_models_flags_no_task():
    honest = play(WORLD, 9)
    lucky = np.random.default_rng(9).random(honest.passed.shape) < 0.5
    wave = replace(honest, passed=honest.passed | (lucky & (honest.rotation == 3)[:, None]))
    assert flagged(task, wave) == flagged(task, honest) == []


def test_a_task_without_power_is_not_tested():
    table = play(World(rotations=3, submitters=3), 4)
    assert len(task(table, 3)) < 10
    fresh = {name for name, first in zip(table.tasks, table.first, strict=True) if first == 3}
    assert not fresh & {test.subject for test in task(play(WORLD, 4), 3)}


def test_a_task_that_all_passed_before_has_one_side_only():
    honest = play(WORLD, 10)
    easy = passed_by(honest, 0.95)
    tests = {test.subject: test.p_value for test in task(honest, 3)}
    assert tests[honest.tasks[easy]] > 1e-3
