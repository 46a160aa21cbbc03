"""Tests of all detectors on simulated worlds: what is wrong is found, and the honest are not flagged."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from rotation.detection.detectors.broken_task import task
from rotation.detection.detectors.copying import _Month, _powers, copying
from rotation.detection.detectors.leaked_family import family
from rotation.detection.detectors.scan import judged, scan
from rotation.detection.statistics.correction import holm

from .worlds import World, Wrong, flagged, play

pytestmark = pytest.mark.slow

SMALL = World(submitters=10, rotations=3, cohort=15, families=12)


@pytest.mark.parametrize("detector", [copying, family, task])
def test_honest_worlds_are_seldom_flagged(detector):
    worlds = [SMALL, replace(SMALL, submitters=5), replace(SMALL, shared=0.9, bases=2), replace(SMALL, harder=1.0)]
    assert sum(bool(flagged(detector, play(world, seed))) for seed, world in enumerate(worlds)) <= 1


def test_a_copied_run_is_found_and_named_in_the_order_of_bytes():
    assert flagged(copying, play(World(rotations=3), 3, Wrong(copied=0.5))) == ["who000|who001"]


def test_equal_counts_of_different_calls_are_no_copies_and_the_same_calls_are():
    table = play(World(rotations=3), 3, Wrong(copied=0.5))
    alike = np.where(table.submitter < 2, 1, 2 + np.arange(len(table.runs)))[:, None]
    others = replace(table, sequence=np.broadcast_to(np.arange(len(table.runs))[:, None], table.calls.shape))
    assert flagged(copying, replace(table, sequence=np.broadcast_to(alike, table.calls.shape))) == ["who000|who001"]
    assert flagged(copying, others) == []


@pytest.mark.parametrize(("seed", "rotation"), [(1007, 2), (1011, 3), (1026, 2)])
def test_models_of_one_lab_that_need_like_calls_are_no_copies(seed, rotation):
    assert flagged(copying, play(World(rotations=3, lab=0.3, shared_effort=0.3), seed), rotation) == []


def test_the_chance_of_like_calls_is_that_of_a_bivariate_normal():
    run, sd = np.array([[1.3, 1.3], [1.15, 1.15]]), 0.3
    both, cap = np.ones((2, 2), dtype=bool), np.array([9, 5])
    calls = np.array([[3, 5], [4, 5]])
    month = _Month(np.arange(2), both, both, calls, 0 * calls, cap, 0 * run, 1e9 + 0 * run, run, sd + 0 * run)
    powers = list(_powers(month, np.array([0]), np.array([1])))
    equal, seen = (sum(0.3**power * part[0] for power, part in enumerate(parts)) for parts in zip(*powers, strict=True))
    law = multivariate_normal([1.3, 1.15], sd**2 * np.array([[1, 0.3], [0.3, 1]]))
    for place, most in enumerate(cap):
        edges = np.array([-20, *np.log(np.arange(1, most) + 0.5), 20])
        below = np.array([[law.cdf([left, right]) for right in edges] for left in edges])
        boxes = np.diff(np.diff(below, axis=0), axis=1)
        assert np.allclose([equal[place], seen[place]], [np.trace(boxes), boxes[tuple(calls[:, place] - 1)]], atol=2e-4)


def test_runs_of_one_submitter_are_never_held_against_each_other():
    subjects = [test.subject for test in copying(play(replace(SMALL, again=1.0), 1), 3)]
    assert len(subjects) == len(set(subjects)) > 0
    assert all(subject.split("|")[0] < subject.split("|")[1] for subject in subjects)


def test_results_of_more_than_six_months_change_nothing():
    table = play(replace(SMALL, rotations=8), 6)
    kept = judged(table, 8)
    assert kept == judged(table.recent(8), 8)
    assert (table.recent(8).rotation.min(), table.recent(8).rotation.max()) == (3, 8)
    reversed_ = replace(table, passed=np.where((table.rotation < 3)[:, None], ~table.passed, table.passed))
    assert kept == judged(reversed_, 8)


def test_later_results_change_nothing():
    table = play(SMALL, 6)
    whole = [one.line("case") for one in scan(table) if one.rotation == 2]
    assert whole == [one.line("case") for one in scan(table.until(2))] == [one.line("case") for one in judged(table, 2)]


def test_corrections_can_be_computed_again_from_the_lines():
    lines = [one.line("case") for one in scan(play(SMALL, 8))]
    for kind in ("copy", "family", "task"):
        here = [line for line in lines if (line["kind"], line["rotation"]) == (kind, 3)]
        again = holm(np.array([line["p_value"] for line in here]))
        assert np.allclose(again, [line["p_adj"] for line in here], rtol=1e-5)
