"""Tests of tracing on drawn tasks, in a small sample; `./run bench tracing` makes the large one."""

from random import Random

import pytest

from rotation.detection.tracing import trace

from . import leaking
from .detection.test_tracing import outcomes as counted

CASES = 12
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def among():
    return leaking.drawn(Random(20261122), 10, 20)


def outcomes(among, by, spoil, **what):
    dice, served, found = Random(f"{by}/{spoil}"), [shown.served for shown in among], []
    for _ in range(CASES):
        guilty = leaking.guilty(among, by, dice)
        found.append((trace(leaking.leak(among, guilty, dice, spoil, **what), served), set(guilty)))
    return counted(found)


@pytest.mark.parametrize(
    "spoil",
    [
        "as it was",
        pytest.param("a third missing", marks=pytest.mark.full),
        pytest.param("reworded", marks=pytest.mark.full),
        "reworded, a third missing",
    ],
)
def test_the_right_run_is_named_also_after_rewording_and_with_a_third_missing(among, spoil):
    said = outcomes(among, 1, spoil, world=True)
    assert said["all"] >= 10
    assert said["false"] == 0


def test_a_part_of_a_goal_mostly_suffices(among):
    said = outcomes(among, 1, "a third missing")
    assert said["all"] >= 5
    assert said["false"] == 0


def test_two_who_mixed_their_texts_are_said_to_be_two_and_no_third_is_named(among):
    said = outcomes(among, 2, "as it was", world=True)
    assert said["two"] >= 9
    assert said["all"] >= 8
    assert said["false"] == 0


@pytest.mark.parametrize("world", [False, True])
def test_a_text_that_nobody_on_record_was_shown_accuses_nobody(among, world):
    said = outcomes(among, 0, "as it was", world=world)
    assert said["false"] == 0
    assert said["one"] + said["two"] == 0


def test_a_leak_that_is_reworded_and_cut_is_still_the_text_of_its_task(among):
    shown = among[0]
    values = next(iter(shown.served.shown.values()))
    whole = shown.text(values, world=False)
    spoilt = leaking.SPOILT["reworded, a third missing"](whole, Random(3))
    assert spoilt != whole
    assert 0.5 < len(spoilt.split()) / len(whole.split()) < 0.9
