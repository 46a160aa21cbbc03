"""Tests of the detector of leaked families: a broken task or an easy fresh one is no leaked family."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.detectors import leaked_family
from rotation.detection.detectors.leaked_family import family
from rotation.detection.detectors.prediction import expected
from rotation.detection.statistics.table import Bools, ResultTable

from .worlds import World, flagged, play

WORLD = World(rotations=3, families=20, cohort=20)


def hardest(table: ResultTable) -> int:
    month = expected(table, 3)
    of = table.family[month.tasks]
    rates = [month.usual[:, of == one].mean() if (of == one).sum() > 3 else 1 for one in range(len(table.families))]
    return int(np.argmin(rates))


def known(table: ResultTable, tasks: Bools, every: int) -> ResultTable:
    """Let every n-th submitter pass these tasks in the last month."""
    knows = (table.rotation == table.last) & (table.submitter % every == 0)
    return replace(table, passed=table.passed | (knows[:, None] & tasks & table.taken))


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 2])
def test_a_family_that_all_or_half_know_is_found(every):
    honest = play(WORLD, 2)
    leaked = hardest(honest)
    assert flagged(family, known(honest, honest.family == leaked, every)) == [honest.families[leaked]]
    assert flagged(family, honest) == []


def test_one_broken_task_is_no_leaked_family():
    honest = play(WORLD, 3)
    broken = int(np.flatnonzero((honest.family == hardest(honest)) & (honest.first < 3) & (honest.first > -1))[0])
    assert flagged(family, known(honest, np.arange(len(honest.tasks)) == broken, 1)) == []


def _family(submitters: int = 12, tasks: int = 3) -> leaked_family._Family:
    easiness = np.linspace(-2, 1, submitters)[:, None] + np.zeros(tasks)
    ones = np.ones((submitters, tasks))
    return leaked_family._Family(easiness, ones, np.full(submitters, 0.2), np.eye(tasks) * 0.3 + 0.02, ones == 1)


def test_the_likelihood_is_that_of_a_sum_over_all_that_is_unknown():
    here = _family(6, 1)
    passed = np.array([[False], [True], [False], [True], [True], [True]])
    found = leaked_family._marginal(here, passed[None], np.zeros((1, 6)), 0.0, np.ones((1, 1), dtype=bool))[0]
    easier = np.linspace(-6, 6, 2001)
    odds = (here.easiness + 0.2 * leaked_family.NODES)[..., None] + easier  # (S, G, ...)
    each = leaked_family.WEIGHTS @ expit(np.where(passed, 1, -1)[..., None] * odds)
    weight = np.exp(-(easier**2) / 2 / here.spread[0, 0])
    assert np.isclose(found, np.log(each.prod(axis=0) @ weight / weight.sum()), atol=0.02)


def test_under_the_model_a_factor_is_one_on_average_in_honest_results():
    here = _family()
    factors = leaked_family._factor(here, leaked_family._leaked(here))
    assert 0.4 < np.exp(-factors).mean() < 2.5


def test_who_passes_counts_beside_how_many():
    here = _family()
    strong, weak = np.zeros((2, 12, 3), dtype=bool)
    strong[8:], weak[:4] = True, True
    able, knowing = leaked_family._factor(here, np.stack([strong, weak]))
    assert knowing > able + 5


def test_a_bound_is_given_where_the_tail_is_of_no_use():
    here = _family()
    assert leaked_family._p_value(here, np.zeros((12, 3), dtype=bool)) == 1
    assert leaked_family._p_value(here, np.ones((12, 3), dtype=bool)) < np.exp(
        -float(leaked_family._factor(here, here.taken[None])[0])
    )


def test_families_of_one_task_or_of_fresh_tasks_only_are_not_tested():
    table = play(replace(WORLD, families=80), 4)
    month = expected(table, 3)
    of = table.family[month.tasks]
    tested = {test.subject for test in family(table, 3)}
    for one in np.unique(of):
        enough = (of == one).sum() >= 2 and not month.fresh[of == one].all()
        assert (table.families[one] in tested) == enough
