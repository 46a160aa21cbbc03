"""Tests of a judge's variance between passes, and of its agreement with gold scores."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from quarterturn_judge.judge_agreement import spearman
from quarterturn_judge.variance import spread

HALF = Fraction(1, 2)
SCORES = st.sampled_from([Fraction(0), HALF, Fraction(1)])


def test_of_two_passes_the_spread_is_half_the_difference():
    assert spread([[Fraction(1), HALF]]) == 0.25
    assert spread([[Fraction(1), HALF], [HALF, HALF], [Fraction(0), Fraction(1)]]) == pytest.approx(
        (0.25 + 0 + 0.5) / 3
    )


def test_the_spread_is_of_the_population_and_not_of_a_sample():
    assert spread([[Fraction(0), HALF, Fraction(1)]]) == pytest.approx(sqrt(1 / 6))


@pytest.mark.parametrize("things", [[], [[HALF]], [[], []]])
def test_of_one_pass_or_of_nothing_there_is_no_spread(things):
    assert spread(things) is None


def test_a_thing_that_one_pass_left_open_is_left_out():
    assert spread([[HALF], [Fraction(0), Fraction(1)]]) == 0.5


def test_with_three_anchors_only_two_agreements_reach_the_bar():
    gold = [0, 0.5, 1]
    orders = {spearman(list(order), gold) for order in permutations(gold)}
    assert {rho for rho in orders if rho >= 0.85} == {1.0}
    for tied in ([0, 0, 1], [0, 1, 1]):
        assert spearman(tied, gold) == pytest.approx(0.866, abs=5e-4)


def test_equal_and_opposite_orders_are_exact():
    scores = [Fraction(place * place, 77) for place in range(40)]
    assert spearman(scores, [float(score) for score in scores]) == 1
    assert spearman(scores, [-score for score in scores]) == -1


@given(st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=30))
def test_ties_have_average_ranks_as_elsewhere(pairs):
    judge, gold = map(list, zip(*pairs, strict=True))
    if len(set(judge)) < 2 or len(set(gold)) < 2:
        with pytest.raises(ValueError, match="have no order"):
            spearman(judge, gold)
    else:
        theirs = spearmanr(rankdata([float(score) for score in judge]), [float(score) for score in gold])
        assert spearman(judge, gold) == pytest.approx(theirs.statistic)


@pytest.mark.parametrize(
    ("judge", "gold", "why"),
    [
        ([1, 1, 1], [0, 0.5, 1], "every score of the judge is the same"),
        ([0, 0.5, 1], [0.5] * 3, "every score of the gold is the same"),
        ([0, 1], [0, 1, 0.5], "2 scores of the judge and 3 gold scores"),
        ([1], [1], "needs at least 2 scores; there are 1"),
        ([], [], "needs at least 2 scores; there are 0"),
        ([float("nan"), 1], [0, 1], "a score of the judge is no finite number"),
    ],
)
def test_scores_without_an_order_are_refused(judge, gold, why):
    with pytest.raises(ValueError, match=why):
        spearman(judge, gold)
