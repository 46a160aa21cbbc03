"""Tests of the submitter prior: earlier runs shrink a near run's estimate, and leave a far one alone."""

from dataclasses import replace

import numpy as np
import pytest

from rotation.detection.detectors.submitter_prior import SubmitterPrior, submitter_prior
from rotation.detection.statistics.table import Floats, ResultTable

from .worlds import World, play

TABLE = play(World(submitters=12, rotations=3, absence=0.0, again=0.0, cohort=4), 1)
SURE = np.full(len(TABLE.runs), 25.0)


def held(estimate: Floats, table: ResultTable = TABLE, information: Floats = SURE) -> SubmitterPrior:
    return submitter_prior(table, estimate, information, 0.25, 100.0)


def months(first: float, second: float, third: float, others: Floats) -> Floats:
    """Make estimates by which the first submitter differs from the others, who are all alike."""
    own = np.array([first, second, third])
    return np.where(TABLE.submitter == 0, own[TABLE.rotation - 1], others[TABLE.rotation - 1])


LAST = int(np.flatnonzero((TABLE.submitter == 0) & (TABLE.rotation == 3))[0])
FLAT = np.zeros(3)


def test_a_first_run_is_promised_nothing():
    found = held(months(1, 1, 1, FLAT))
    first = TABLE.rotation == 1
    assert np.all(found.shift[first] == 0)
    assert np.all(found.pull[first] == 0)
    assert np.all(found.precision[first] == 100.0**-2)


def test_a_run_near_its_promise_is_drawn_to_it():
    found = held(months(1.0, 1.0, 1.2, FLAT))
    assert -0.2 < found.shift[LAST] < -0.05
    assert found.pull[LAST] > 0


def test_another_model_is_believed_as_it_is():
    near, far = held(months(1.0, 1.0, 1.2, FLAT)), held(months(1.0, 1.0, 4.0, FLAT))
    assert -0.1 < far.shift[LAST] < 0
    assert far.precision[LAST] < near.precision[LAST] / 10


def test_a_change_shared_by_all_others_is_no_signal():
    everybody = np.array([0.0, 0.0, 0.5])
    found = held(months(1.0, 1.0, 1.5, everybody))
    assert found.pull[LAST] == pytest.approx(0, abs=1e-9)


def test_restless_submitters_promise_less():
    dice = np.random.default_rng(1)
    calm, restless = (held(dice.normal(0, spread, len(SURE))) for spread in (0.2, 1.5))
    later = TABLE.rotation > 1
    assert np.median(restless.precision[later]) < np.median(calm.precision[later]) / 5


def test_later_months_change_nothing_of_what_was_promised_but_how_close_is_close():
    dice = np.random.default_rng(2)
    estimate, now = dice.normal(0, 0.2, len(SURE)), TABLE.rotation <= 2
    some = replace(
        TABLE, submitter=TABLE.submitter[now], rotation=TABLE.rotation[now], runs=TABLE.runs[: int(now.sum())]
    )
    assert np.allclose(held(estimate).shift[now], held(estimate[now], some, SURE[now]).shift, atol=0.05)
