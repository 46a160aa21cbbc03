"""Tests of the gap test and its null: shares of a field, whole sources that leak, groups, and several samples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.detectors.exposed_gap import Gap, gaps, nulls_of, p_value
from rotation.detection.detectors.field_null import learn
from rotation.detection.detectors.leaked_group import group
from rotation.detection.detectors.leaked_tasks import leak
from rotation.detection.statistics.correction import holm

from .worlds import flagged, table_of

AGENTS, TASKS, OLD = 36, 400, 160
GUILTY = np.arange(12)


def field(seed, gap, rates=False, spread=0.0):
    """Simulate a leaderboard of one look: a third of the agents, on two bases, know the old tasks of one source."""
    dice = np.random.default_rng(seed)
    known = (np.arange(TASKS) < OLD) & (np.arange(TASKS) % 3 > 0)
    logits = dice.normal(-0.5, 1.2, AGENTS)[:, None] - dice.normal(0, 1.5, TASKS)
    logits += spread * dice.standard_t(3, AGENTS)[:, None] * (np.arange(TASKS) < OLD)
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
    table = field(seed, 0.0, spread=0.2)
    assert flagged(leak, table, 2) == flagged(group, table, 2) == []


def test_a_group_is_named_with_the_members_that_show_the_gap():
    tests = {test.subject: test for test in group(field(1, 2.0), 2)}
    assert set(tests) == {"left", "right"}
    assert all(holm(np.array([test.p_value for test in tests.values()])) <= 0.01)
    assert tests["right"].detail == "4 of 4 members: s08, s09, s10, s11"
    assert group(replace(field(1, 2.0), groups=()), 2) == []


def test_a_chance_variance_is_a_lower_bound_and_the_field_adds_what_it_shows():
    dice, chance = np.random.default_rng(1), np.ones(60)
    calm, wide = (learn([(spread * dice.normal(size=60), chance)], 0.1)[0].tail(4.0, 1.0) for spread in (0.3, 3.0))
    assert 3e-5 < calm < 2e-4  # 3e-5 is what a normal has beyond 4
    assert 0.02 < wide < 0.15


def test_the_shift_that_peers_who_leak_give_to_the_honest_is_taken_away():
    estimates = np.concatenate([np.random.default_rng(2).normal(-1, 1, 40), np.full(15, 5.0)])
    [null] = learn([(estimates, np.ones(55))], 0.1)
    assert null.weight.sum() == pytest.approx(1)
    assert null.shift @ null.weight == pytest.approx(-1, abs=0.4)
    assert null.tail(5.0, 1.0) < 5e-5


def test_a_source_that_did_not_leak_tells_how_much_the_honest_differ():
    dice = np.random.default_rng(5)
    leaked = dice.normal(size=40) + 5 * (np.arange(40) < 13), np.ones(40)
    calm, wide = ((spread * dice.normal(size=40), np.ones(40)) for spread in (1.0, 4.0))
    alone, beside_calm, beside_wide = (
        learn(fields, 1.0, range(len(fields)))[0].tail(6.0, 1.0)
        for fields in ([leaked], [leaked, calm], [leaked, wide])
    )
    assert beside_calm < alone < beside_wide


def test_a_submitters_own_results_change_nothing_of_the_share_of_others_that_seems_guilty():
    others = np.random.default_rng(6).normal(size=20)
    calm, clear = (learn([(np.append(others, own), np.ones(21))], 0.1)[0].guilty for own in (0.0, 6.0))
    assert clear[-1] > 1.3 * calm[-1]
    assert clear[-2] == pytest.approx(calm[-2], rel=0.1)


def test_a_test_weighs_as_much_as_the_share_of_the_field_that_is_guilty_there():
    chances, leak = np.random.default_rng(6).normal(size=40), 8.0 * (np.arange(40) < 12)
    none, third = (learn([(estimates, np.ones(40))], 0.1)[0].guilty for estimates in (chances, chances + leak))
    assert max(none) < 0.1
    assert third == pytest.approx(0.3, abs=0.06)


def followed(seed, known=0.0, level=0.0, changed=0):
    """Simulate five months of the same agents, four cohorts live; the first knows a source up to the first month."""
    dice, agents, cohort = np.random.default_rng(seed), 24, 60
    first = np.repeat(np.arange(-2, 6), cohort)
    rotation, agent = (grid.ravel() for grid in np.meshgrid(np.arange(1, 6), np.arange(agents), indexing="ij"))
    logits = dice.normal(-0.5, 0.8, agents)[:, None] - dice.normal(0, 1.2, len(first))
    logits[0] += known * ((first <= 1) & (np.arange(len(first)) % 2 > 0))
    moved = logits[agent] + level * ((agent == 0) & (rotation >= changed))[:, None]
    taken = (first <= rotation[:, None]) & (first > rotation[:, None] - 4)
    passed = taken & (dice.random(taken.shape) < expit(moved))
    return table_of(
        taken,
        passed,
        runs=tuple(f"s{who:02}" for who in agent),
        submitter=agent,
        submitters=tuple(f"s{who:02}" for who in range(agents)),
        rotation=rotation,
        first=first,
        exposed=first < rotation[:, None],
        server=np.arange(len(first)) % 2,
    )


def test_an_agent_whose_knowledge_ends_with_a_month_is_found_later_though_few_of_its_tasks_are_left():
    table = followed(1, known=2.0)
    assert flagged(leak, table, 5) == ["s00"]
    assert flagged(leak, table.only(np.flatnonzero(table.rotation == 5)), 5) == []


@pytest.mark.parametrize("level", [-1.5, 1.5])
def test_a_jump_of_the_score_on_old_and_new_alike_is_no_leak(level):
    table = followed(2, level=level, changed=4)
    assert flagged(leak, table, 4) == flagged(leak, table, 5) == []


def test_below_ten_submitters_that_tell_anything_there_is_no_null():
    nothing = Gap(0.0, np.inf)
    assert nulls_of([[Gap(0.0, 1.0)] * 9 + [nothing] * 9], 0.1) == [None]
    few, [null] = nulls_of([[nothing] * 10], 0.1), nulls_of([[Gap(0.0, 1.0)] * 10 + [nothing]], 0.1)
    assert few == [None]
    assert len(null.guilty) == 12
    assert p_value(null, nothing) == 1


def test_shares_of_several_samples_have_the_smaller_variance_that_they_show():
    dice = np.random.default_rng(4)
    shape = (1, 200)
    chance, old = np.full(shape, 0.5), np.arange(200) < 100
    shares = [dice.binomial(samples, chance) / samples for samples in (1, 10)]
    single, several = (gaps(old[None], share, np.ones(shape), np.zeros(shape), np.full(shape, 0.1)) for share in shares)
    assert several.of([0]).variance < single.of([0]).variance / 2
