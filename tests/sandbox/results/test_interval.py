"""Tests of the coverage of confidence intervals, also on few data."""

from __future__ import annotations

import random

import pytest

from sandbox.results import interval
from sandbox.results.interval import Figure, mean, proportion, student, wilson


def test_without_clusters_the_interval_is_wilsons():
    # 10 of 20: R. G. Newcombe, Statistics in Medicine 17 (1998), method 3, gives 0.299 to 0.701
    figure = proportion([(1, 1)] * 10 + [(0, 1)] * 10)
    assert (figure.low, figure.high) == pytest.approx(wilson(0.5, 20))
    assert (figure.low, figure.high) == pytest.approx((0.2993, 0.7007), abs=1e-4)


def test_tasks_of_one_skeleton_that_agree_count_as_less_evidence():
    alike = proportion([(3, 3)] * 10 + [(0, 3)] * 10)
    apart = proportion([(1, 1)] * 30 + [(0, 1)] * 30)
    assert alike.value == apart.value
    assert alike.high - alike.low > 1.5 * (apart.high - apart.low)


@pytest.mark.parametrize("sizes", [[1] * 24, [3] * 8, [1, 2, 3] * 20])
def test_all_or_nothing_still_has_an_honest_width(sizes):
    none, every = proportion([(0, m) for m in sizes]), proportion([(m, m) for m in sizes])
    assert none.low == 0.0
    assert every.high == 1.0
    assert none.high == pytest.approx(1 - every.low)
    # the rule of three for as many observations as there are skeletons, or a little wider
    assert 3 / sum(sizes) < none.high < 6 / len(sizes)


def test_one_more_pass_never_makes_a_perfect_score_look_worse():
    perfect, nearly = proportion([(3, 3)] * 60), proportion([(3, 3)] * 59 + [(2, 3)])
    assert perfect.low >= nearly.low - 1e-3


def test_one_skeleton_is_one_observation():
    assert (proportion([(9, 9)]).low, proportion([(9, 9)]).high) == pytest.approx(wilson(1.0, 1))
    assert proportion([(5, 9)]).low < 0.1
    assert mean([[0.5, 0.6]]) == Figure(0.55, 2, 0.0, 1.0)


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (59, 2.0010), (120, 1.9799)]
)
def test_students_quantiles_are_those_of_the_tables(degrees, expected):
    assert student(degrees) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("share", "alike", "skeletons", "sizes"),
    [(0.5, 0.3, 60, (1, 2, 3, 6)), (0.8, 0.8, 60, (1, 2, 3, 6)), (0.95, 0.3, 20, (1, 2)), (0.8, 0.3, 6, (4, 5))],
)
def test_the_interval_covers_the_truth_where_skeletons_differ(share, alike, skeletons, sizes):
    """Skeletons are beta-binomial: `alike` is the correlation of two tasks of one skeleton."""
    dice = random.Random(20261201)
    a, b = share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike
    covered = steady = naive = 0
    for _ in range(400):
        drawn = [(dice.betavariate(a, b), dice.choice(sizes)) for _ in range(skeletons)]
        pairs = [(sum(dice.random() < p for _ in range(m)), m) for p, m in drawn]
        figure, ranked = proportion(pairs), interval.share(sum(hits for hits, _ in pairs), [m for _, m in pairs])
        low, high = wilson(figure.value, figure.n)
        covered += figure.low <= share <= figure.high
        steady += ranked.low <= share <= ranked.high
        naive += low <= share <= high
    assert covered / 400 >= 0.92
    assert steady / 400 >= 0.94
    assert covered >= naive


def test_the_efficiency_interval_covers_the_truth_where_skeletons_differ():
    dice = random.Random(20261202)
    covered = 0
    for _ in range(400):
        centres = [dice.uniform(0.2, 0.8) for _ in range(15)]
        figure = mean([[c + dice.uniform(-0.1, 0.1) for _ in range(3)] for c in centres])
        covered += figure.low <= 0.5 <= figure.high
    assert 0.92 <= covered / 400 <= 0.98
