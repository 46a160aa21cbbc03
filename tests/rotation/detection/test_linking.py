"""Tests of linked scores: comparable across months whose cohorts differ in difficulty."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.statistics.linking import MIN_GROUPS, LinkedRuns, groups, link
from rotation.detection.statistics.table import ResultTable

from .worlds import table_of

LIFE, COHORT, FAMILIES = 4, 50, 40
HARDER = 0.6  # half a standard deviation of difficulties


def world(
    seed: int, *, submitters: int = 12, rotations: int = 2, harder: float = 0.0, runs: int = 1, known: float = 0.0
) -> ResultTable:
    """Simulate months in which submitter 0 keeps its ability and the others change; submitter 1 may know old tasks."""
    dice = np.random.default_rng(seed)
    first = np.repeat(np.arange(2 - LIFE, rotations + 1), COHORT)
    family = dice.integers(0, FAMILIES, len(first))
    difficulty = dice.normal(0, 1.2, len(first)) + dice.normal(0, 0.4, FAMILIES)[family] + harder * (first > 1)
    lean = dice.normal(0, 0.5, (submitters, len(first)))
    ability = dice.normal(0, 1, submitters)
    made = [(r, s, k) for r in range(1, rotations + 1) for s in range(submitters) for k in range(runs if s else 1)]
    drift = np.cumsum(dice.normal(0.1, 0.3, (rotations, submitters)), axis=0) * (np.arange(submitters) > 0)
    luck = dice.random((len(made), len(first)))
    rotation = np.array([r for r, _, _ in made])
    who = np.array([s for _, s, _ in made])
    taken = (first <= rotation[:, None]) & (first > rotation[:, None] - LIFE)
    exposed = taken & (first < rotation[:, None]) & (rotation[:, None] > 1)
    chance = expit(ability[who, None] + drift[rotation - 1, who][:, None] - difficulty + lean[who])
    knows = dice.random(len(first)) < known
    passed = taken & ((luck < chance) | (exposed & knows & (who == 1)[:, None]))
    names = tuple(f"f{number:02}" for number in range(FAMILIES))
    return table_of(
        taken,
        passed,
        runs=tuple(f"{r}-{s:02}-{k}" for r, s, k in made),
        submitter=who,
        rotation=rotation,
        submitters=tuple(f"s{number:02}" for number in range(submitters)),
        family=family,
        families=names,
        first=first,
        exposed=exposed,
    ).until(rotations)


def of_the_unchanged(line: LinkedRuns) -> tuple[int, int]:
    runs = np.flatnonzero(line.table.submitter == 0)
    return int(runs[0]), int(runs[-1])


def raw(table: ResultTable) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray((table.passed & table.taken).sum(1) / table.taken.sum(1))


def value(number: float | None) -> float:
    assert number is not None
    return number


@pytest.mark.slow
def test_a_harder_cohort_moves_an_unchanged_agents_raw_score_and_not_its_linked_one():
    """The same random numbers with a usual fresh cohort, and with one that is harder by half a deviation."""
    raws, linked, errors = [], [], []
    for seed in range(15):
        usual, harder = link(world(seed)), link(world(seed, harder=HARDER))
        _, after = of_the_unchanged(usual)
        raws.append(raw(harder.table)[after] - raw(usual.table)[after])
        linked.append(value(harder.linked()[after].value) - value(usual.linked()[after].value))
        errors.append(value(harder.linked()[after].se))
    assert np.mean(raws) < -0.02
    assert abs(np.mean(linked)) < 0.006
    assert np.all(np.abs(linked) < errors)


@pytest.mark.slow
@pytest.mark.full
def test_the_interval_of_a_change_holds_the_truth_as_often_as_it_says():
    changes = []
    for seed in range(60):
        line = link(world(seed, harder=HARDER))
        changes.append(line.change(*of_the_unchanged(line)))
    inside = [value(change.low) <= 0 <= value(change.high) for change in changes]
    assert sum(inside) >= 53  # 57 are expected; fewer than 53 has a chance of 2 %
    assert abs(np.mean([value(change.value) for change in changes])) < 0.015


@pytest.mark.full
@pytest.mark.slow
def test_one_submitters_knowledge_does_not_move_the_others():
    weights = []
    for seed in range(6):
        honest, leaked = world(seed), world(seed, known=0.4)
        before, after = link(honest), link(leaked)
        others = before.table.submitter != 1
        moved = np.array(
            [value(b.value) - value(a.value) for a, b in zip(before.linked(), after.linked(), strict=True)]
        )
        errors = np.array([value(one.se) for one in before.linked()])
        assert np.all(np.abs(moved[others]) < 0.35 * errors[others])
        knows = (leaked.submitter == 1) & (leaked.rotation == 2)
        weights.append((float(before.scale.weight[knows][0]), float(after.scale.weight[knows][0])))
    assert np.mean(weights, axis=0)[1] < np.mean(weights, axis=0)[0] - 0.1


def test_many_runs_of_one_submitter_count_as_one():
    line = link(world(3, runs=5))
    assert np.all(line.scale.weight[line.table.submitter > 0] <= 0.2)
    assert np.all(line.scale.weight[line.table.submitter == 0] > 0.5)


def test_in_the_month_of_the_reference_set_the_linked_score_is_the_raw_one():
    line = link(world(5, rotations=3, harder=HARDER))
    first = line.table.rotation == 1
    scores = np.array([value(one.value) for one in line.linked()])
    assert np.allclose(scores[first], raw(line.table)[first], atol=0.003)


def test_another_month_may_be_the_reference():
    line = link(world(5, rotations=3, harder=HARDER), reference=3)
    last = line.table.rotation == 3
    scores = np.array([value(one.value) for one in line.linked()])
    assert np.allclose(scores[last], raw(line.table)[last], atol=0.003)


def test_intervals_stay_between_nothing_and_everything():
    table = world(7)
    perfect = replace(table, passed=table.passed | (table.submitter == 2)[:, None] & table.taken)
    for estimate in link(perfect).linked():
        assert 0 <= value(estimate.low) <= value(estimate.value) <= value(estimate.high) <= 1


def test_too_few_families_give_no_interval():
    table = world(8)
    few = replace(table, family=table.family % (MIN_GROUPS - 1), families=table.families[: MIN_GROUPS - 1])
    assert {one.low for one in link(few).linked()} == {None}


def test_every_task_is_in_one_group():
    assert np.all(np.sum(groups(world(9)), axis=0) == 1)


def test_the_same_table_gives_the_same_bytes():
    table = world(10)
    assert repr(link(table).linked()) == repr(link(table).linked())


@pytest.mark.parametrize("submitters", [1, 2])
def test_a_lonely_submitter_is_linked_by_the_tasks_that_stayed(submitters):
    line = link(world(11, submitters=submitters, harder=HARDER))
    assert all(np.isfinite(value(one.value)) for one in line.linked())
