"""Tests of the gap test and its null: shares of a field, whole sources that leak, groups, and several samples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.detectors.exposed_gap import Gap, gaps, null_of, p_value
from rotation.detection.detectors.field_null import learn
from rotation.detection.detectors.leaked_group import group
from rotation.detection.detectors.leaked_tasks import leak
from rotation.detection.statistics.correction import holm

from .worlds import flagged, table_of

AGENTS, TASKS, OLD = 36, 400, 160
GUILTY = np.arange(12)


def field(seed, gap, rates=False):
    """Simulate a leaderboard of one look: a third of the agents, on two bases, know the old tasks of one source."""
    dice = np.random.default_rng(seed)
    known = (np.arange(TASKS) < OLD) & (np.arange(TASKS) % 3 > 0)
    logits = dice.normal(-0.5, 1.2, AGENTS)[:, None] - dice.normal(0, 1.5, TASKS)
    logits += 0.1 * dice.standard_t(4, AGENTS)[:, None] * (np.arange(TASKS) < OLD)
    logits[GUILTY] += gap * known
    chance = expit(logits + dice.normal(0, 0.5, logits.shape))
    passed = dice.random(chance.shape) < chance
    first = np.where(np.arange(TASKS) < OLD, 1, 2)
    return table_of(
        np.ones_like(passed),
        passed,
        rotation=np.full(AGENTS, 2),
        first=first,
        exposed=np.broadcast_to(first < 2, passed.shape),
        server=np.arange(TASKS) % 3,
        rates=dice.binomial(10, chance) / 10 if rates else None,
        groups=tuple("left" if agent < 8 else "right" if agent < 12 else "" for agent in range(AGENTS)),
    )


def test_a_third_of_the_field_may_share_a_leak_and_the_honest_are_let_be():
    names = {f"s{agent:02}" for agent in GUILTY}
    passes, rates = (set(flagged(leak, field(1, 2.0, rates), 2)) for rates in (False, True))
    assert len(passes) >= 3
    assert len(rates) >= 10
    assert passes | rates <= names


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tailed_differences_and_groups_of_a_common_origin_are_no_leak(seed):
    table = field(seed, 0.0)
    assert flagged(leak, table, 2) == flagged(group, table, 2) == []


def test_a_group_is_named_with_the_members_that_show_the_gap():
    tests = {test.subject: test for test in group(field(1, 2.0), 2)}
    assert set(tests) == {"left", "right"}
    assert all(holm(np.array([test.p_value for test in tests.values()])) <= 0.01)
    assert tests["right"].detail == "4 of 4 members: s08, s09, s10, s11"
    assert group(replace(field(1, 2.0), groups=()), 2) == []


def test_a_chance_variance_is_a_lower_bound_and_the_field_adds_what_it_shows():
    dice, chance = np.random.default_rng(1), np.ones(60)
    calm, wide = (learn(spread * dice.normal(size=60), chance, 0.1).tail(4.0, 1.0) for spread in (0.3, 3.0))
    assert 3e-5 < calm < 2e-4  # 3e-5 is what a normal has beyond 4
    assert 0.02 < wide < 0.15


def test_the_shift_that_peers_who_leak_give_to_the_honest_is_taken_away():
    estimates = np.concatenate([np.random.default_rng(2).normal(-1, 1, 40), np.full(15, 5.0)])
    null = learn(estimates, np.ones(55), 0.1)
    assert null.weight.sum() == pytest.approx(1)
    assert null.shift @ null.weight == pytest.approx(-1, abs=0.4)
    assert null.tail(5.0, 1.0) < 1e-5


def test_below_ten_submitters_that_tell_anything_there_is_no_null():
    nothing = Gap(0.0, np.inf)
    assert null_of([Gap(0.0, 1.0)] * 9 + [nothing] * 9, 0.1) is None
    assert p_value(None, Gap(3.0, 1.0)) == 1
    assert p_value(null_of([Gap(0.0, 1.0)] * 10, 0.1), nothing) == 1


def test_a_result_that_is_repeated_each_month_counts_once():
    dice = np.random.default_rng(4)
    residual, weight = dice.choice([-0.5, 0.5], (1, 80)), np.full((3, 80), 0.25)
    old = np.broadcast_to(np.arange(80) < 40, (3, 80))
    months = gaps(old, np.tile(residual, (3, 1)), weight, np.zeros((3, 80)))
    once, thrice = months.of(np.array([0])), months.of(np.arange(3))
    assert (once.estimate, once.variance) == pytest.approx((thrice.estimate, thrice.variance))
