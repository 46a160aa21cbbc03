"""Tests of the weights of repeated results: what an agent repeats counts once, and its honest peers are not accused."""

import numpy as np
import pytest

from rotation.detection.detectors.leaked_tasks import leak
from rotation.detection.detectors.scan import judged
from rotation.detection.statistics.repeats import weights

from .worlds import World, play, table_of

TASKS = 2000


def two_months(*shares):
    """Make two runs of each submitter, who repeats so large a share of their results, and of one who has no second."""
    dice = np.random.default_rng(4)
    many = len(shares) + 1
    passed, calls = dice.random((2 * many, TASKS)) < 0.6, dice.integers(1, 6, (2 * many, TASKS))
    for who, share in enumerate(shares):
        again = dice.random(TASKS) < share
        passed[many + who] = np.where(again, passed[who], passed[many + who])
        calls[many + who] = np.where(again, calls[who], calls[many + who])
    taken = np.ones((2 * many, TASKS), dtype=bool)
    taken[:, :100] = False
    taken[-1] = False
    rotation = np.repeat([1, 2], many)
    names = tuple(f"s{who}" for who in range(many))
    return table_of(
        taken, passed, calls=calls, submitter=np.tile(np.arange(many), 2), submitters=names, rotation=rotation
    )


def test_a_repeated_result_counts_as_much_as_the_submitter_draws_anew():
    found = weights(two_months(1.0, 0.7, 0.0))
    assert np.all(found[:4] == 1)
    assert np.all(found[4, 100:] == 0)
    assert found[5, 100:] == pytest.approx(0.3, abs=0.03)
    assert found[6, 100:] == pytest.approx(1, abs=0.05)
    assert np.all(found[7] == 1)


def test_one_run_and_one_submitter_count_whole():
    everything = np.ones((1, 3), dtype=bool)
    assert np.all(weights(table_of(everything, everything)) == 1)


@pytest.mark.slow
@pytest.mark.full
def test_the_honest_among_agents_that_repeat_themselves_are_not_accused():
    world = World(submitters=13, frozen=8, repeating=8, repeated=0.9)
    tests = [one.tested for seed in range(7) for one in judged(play(world, 950_000 + seed), 4, (leak,))]
    honest = [one.p_value for one in tests if int(one.subject.removeprefix("who")) < 5]
    assert len(honest) >= 30
    assert sum(p_value <= 0.05 for p_value in honest) <= len(honest) / 10
