"""Tests of raters' agreement and of threshold sensitivity, on published examples."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from quarterturn_measures.claim_scores import JudgedTask
from quarterturn_measures.ratings.agreement import cohen_kappa, fleiss_kappa, jackknife, krippendorff_alpha
from quarterturn_measures.ratings.thresholds import THRESHOLDS, kendall_tau_b, sensitivity

# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section D: four observers, twelve units
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# J. L. Fleiss' example as in D. G. Altman's form: ten subjects, fourteen raters, five categories
SUBJECTS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""
SCORES = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), None])
ORDINAL = ["1", "2", "3", "4", "5"]


def units(*observers: str) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(rating for rating in unit if rating != ".")) for unit in zip(*observers, strict=True))


def test_alpha_of_the_published_example():
    assert float(krippendorff_alpha(units(*OBSERVERS))) == pytest.approx(0.743, abs=5e-4)
    assert float(krippendorff_alpha(units(*OBSERVERS), ORDINAL)) == pytest.approx(0.815, abs=5e-4)


def test_fleiss_kappa_of_the_published_example():
    rows = [[int(count) for count in line.split()] for line in SUBJECTS.split("\n") if line]
    subjects = Counter(tuple(str(at) for at, count in enumerate(row) for _ in range(count)) for row in rows)
    assert float(fleiss_kappa(subjects)) == pytest.approx(0.210, abs=5e-4)


def test_cohen_kappa_of_a_table():
    assert cohen_kappa({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}) == Fraction(2, 5)


def test_agreement_beyond_chance_is_whole_nothing_or_worse():
    same, opposite = {("a", "a"): 3, ("b", "b"): 2}, {("a", "b"): 3, ("b", "a"): 3}
    assert [kappa(same) for kappa in (cohen_kappa, fleiss_kappa, krippendorff_alpha)] == [1, 1, 1]
    assert (cohen_kappa(opposite), fleiss_kappa(opposite)) == (-1, -1)
    assert krippendorff_alpha(opposite) < 0
    assert cohen_kappa({("a", "b"): 4}) == 0


@pytest.mark.parametrize("of", [{}, {("a", "a"): 7}])
def test_where_one_category_occurs_or_none_nothing_is_measured(of):
    assert cohen_kappa(of) is None
    assert fleiss_kappa(of) is None
    assert krippendorff_alpha(of) is None
    assert krippendorff_alpha(of, ["a", "b"]) is None


def test_alpha_leaves_subjects_with_one_rating_out_and_counts_near_misses_less():
    base = {("0", "0"): 4, ("1", "1"): 4, ("0.5", "0.5"): 4}
    order = ["0", "0.5", "1"]
    assert krippendorff_alpha(base | {("1",): 9, (): 2}, order) == 1
    near, far = base | {("0", "0.5"): 2}, base | {("0", "1"): 2}
    assert krippendorff_alpha(near, order) > krippendorff_alpha(far, order)
    with pytest.raises(ValueError, match="has no place in the order 0, 1"):
        krippendorff_alpha(base, ["0", "1"])


def test_combinations_of_another_size_are_refused():
    with pytest.raises(ValueError, match="of two raters"):
        cohen_kappa({("a", "b", "a"): 1})
    with pytest.raises(ValueError, match="that all raters have rated"):
        fleiss_kappa({("a", "b", "a"): 1, ("a", "b"): 1})


def test_subjects_that_are_alike_make_the_interval_wider():
    subjects = [("a", "a")] * 12 + [("b", "b")] * 8 + [("a", "b")] * 4
    alone = jackknife([Counter([pair]) for pair in subjects], cohen_kappa)
    together = jackknife([Counter(subjects[place : place + 4]) for place in range(0, 24, 4)], cohen_kappa)
    assert (alone.value, alone.n) == (together.value, together.n) == (float(cohen_kappa(Counter(subjects))), 24)
    assert -1 <= together.low < alone.low < alone.value < alone.high < together.high <= 1


def test_an_interval_of_nothing_or_of_one_cluster_tells_nothing():
    pairs = Counter({("a", "a"): 2, ("a", "b"): 1})
    assert jackknife([], cohen_kappa).value is None
    one = jackknife([pairs], cohen_kappa)
    assert (one.low, one.high) == (-1, 1)
    agreed = jackknife(
        [Counter({("a", "a"): 2}), Counter({("b", "b"): 2}), Counter({("b", "b"): 1, ("a", "a"): 1})], cohen_kappa
    )
    assert (agreed.value, agreed.low, agreed.high) == (1, None, None)
    lonely = jackknife([Counter({("a", "a"): 2}), Counter({("b", "b"): 1})], cohen_kappa)  # without it one category
    assert (lonely.low, lonely.high) == (-1, 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=25))
def test_tau_b_is_that_of_others(pairs):
    first, second = map(list, zip(*pairs, strict=True))
    ours = kendall_tau_b(first, second)
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert ours is None
    else:
        assert isclose(ours, kendalltau(first, second).statistic, abs_tol=1e-9)


def test_the_published_claims_pass_at_three_quarters():
    half, one, nothing = Fraction(1, 2), Fraction(1), Fraction(0)
    claims = {
        "a": [one, half, half, nothing],
        "b": [one, one, nothing, nothing, nothing],
        "c": [one, one, one, nothing],
    }
    rows = sensitivity({name: [JudgedTask("s", scores)] for name, scores in claims.items()})
    rates = {float(row.threshold): [figure.value for figure in row.pass_rates.values()] for row in rows}
    assert rates[0.5] == [1, 0, 1]
    assert rates[0.75] == [0, 0, 1]
    assert rates[0.8] == [0, 0, 0]
    by_threshold = {float(row.threshold): row for row in rows}
    assert by_threshold[0.75].ranks == {"a": 2, "b": 2, "c": 1}
    assert (by_threshold[0.75].tau_b, by_threshold[0.8].tau_b) == (1, None)
    assert by_threshold[0.5].tau_b == pytest.approx(0.5)


@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(st.lists(SCORES, min_size=1, max_size=5), min_size=1, max_size=6))
)
def test_pass_rates_never_rise_with_the_threshold(claims):
    rows = sensitivity({name: [JudgedTask("s", scores) for scores in tasks] for name, tasks in claims.items()})
    assert [row.threshold for row in rows] == sorted(THRESHOLDS)
    for name in claims:
        rates = [row.pass_rates[name].value for row in rows]
        assert rates == sorted(rates, reverse=True)


def test_a_task_that_unknown_claims_leave_open_is_not_passed_and_counted_apart():
    known, one = Fraction(1), [JudgedTask("s", [Fraction(1), None, Fraction(1), Fraction(1)])]
    rows = {float(row.threshold): row for row in sensitivity({"a": one})}
    assert [(rows[at].pass_rates["a"].value, rows[at].open["a"]) for at in (0.75, 0.8, 1)] == [(1, 0), (0, 1), (0, 1)]
    assert one[0].coverage is None
    assert JudgedTask("s", [known, Fraction(0)]).coverage == Fraction(1, 2)
