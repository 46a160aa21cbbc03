"""The four axes: what counts, what an interval covers, who ranks where."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from sandbox.errors import Malformed
from sandbox.score import Figure, Result, mean, proportion, rank, score, student, totals, wilson
from verifiers.verdict import Verdict

PASS = Result(
    run=7,
    task="t-1",
    cohort="cohort-2026-12",
    server="git",
    category="composition",
    verdict=Verdict.TRUE,
    passed=True,
    calls=6,
    max_steps=12,
    unlisted=0,
    errors_seen=0,
    skeleton="aa",
)
FAIL = replace(PASS, verdict=Verdict.FALSE, passed=False)


def a_run(*results: Result, per_skeleton: int = 1) -> list[Result]:
    """Give each result a task of its own, and a skeleton to every few of them."""
    return [replace(r, task=f"t-{i}", skeleton=f"s-{i // per_skeleton}") for i, r in enumerate(results)]


def test_success_counts_every_task_of_the_set_and_only_passes():
    over_budget = replace(FAIL, verdict=Verdict.TRUE, calls=13)
    result = score(a_run(PASS, PASS, over_budget, FAIL))
    assert (result.success_rate.value, result.success_rate.n) == (0.5, 4)
    assert (result.attempted, result.passed, result.ranked) == (4, 2, True)


def test_efficiency_is_a_mean_over_passed_tasks_only():
    result = score(a_run(PASS, replace(PASS, calls=3), replace(FAIL, calls=12)))
    assert (result.efficiency.value, result.efficiency.n) == (0.375, 2)


def test_hallucinated_tools_are_counted_over_all_calls_of_the_submission():
    result = score(a_run(replace(PASS, calls=9), replace(FAIL, calls=11, unlisted=5)))
    assert (result.hallucinated_tool_rate.value, result.hallucinated_tool_rate.n) == (0.25, 20)


def test_recovery_looks_only_at_recovery_tasks_where_an_error_was_seen():
    seen = replace(PASS, category="recovery", errors_seen=1)
    unseen = replace(seen, errors_seen=0)
    lost = replace(FAIL, category="recovery", errors_seen=2)
    elsewhere = replace(FAIL, errors_seen=1)
    result = score(a_run(seen, unseen, lost, lost, lost, elsewhere))
    assert (result.recovery_rate.value, result.recovery_rate.n) == (0.25, 4)


def test_nothing_attempted_gives_no_figure_and_no_rank():
    empty = score([])
    assert empty.success_rate == empty.efficiency == empty.recovery_rate == Figure(None, 0, None, None)
    assert rank([empty]) == [None]


def test_an_unknown_verdict_is_no_pass_widens_the_interval_and_forbids_a_rank():
    unknown = replace(FAIL, verdict=Verdict.UNKNOWN)
    failed, doubtful = score(a_run(*[PASS] * 9, FAIL)), score(a_run(*[PASS] * 9, unknown))
    assert doubtful.success_rate.value == failed.success_rate.value
    assert doubtful.success_rate.high > failed.success_rate.high
    assert (doubtful.unknown, doubtful.ranked) == (1, False)
    assert rank([failed, doubtful]) == [1, None]


@pytest.mark.parametrize(
    "wrong", [{"passed": True, "verdict": Verdict.FALSE}, {"calls": 13}, {"unlisted": 7}, {"max_steps": 0}]
)
def test_a_result_that_contradicts_itself_is_refused(wrong):
    with pytest.raises(Malformed, match="t-1 in run 7"):
        replace(PASS, **wrong)


def test_a_task_counts_once_and_runs_are_not_mixed():
    with pytest.raises(Malformed, match="twice"):
        score([PASS, PASS])
    with pytest.raises(Malformed, match="several runs"):
        totals([PASS, replace(PASS, run=8, task="t-2")])


def test_overlapping_intervals_share_a_rank():
    best, near, far = (score(a_run(*[PASS] * n, *[FAIL] * (100 - n))) for n in (90, 85, 30))
    assert rank([far, near, best]) == [3, 1, 1]


# --- intervals ---------------------------------------------------------------------------------------------------


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
    """Beta-binomial skeletons: `alike` is the correlation of two tasks of one skeleton."""
    dice = random.Random(20261201)
    a, b = share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike
    covered = naive = 0
    for _ in range(400):
        drawn = [(dice.betavariate(a, b), dice.choice(sizes)) for _ in range(skeletons)]
        figure = proportion([(sum(dice.random() < p for _ in range(m)), m) for p, m in drawn])
        low, high = wilson(figure.value, figure.n)
        covered += figure.low <= share <= figure.high
        naive += low <= share <= high
    assert covered / 400 >= 0.92
    assert covered >= naive


def test_the_efficiency_interval_covers_the_truth_where_skeletons_differ():
    dice = random.Random(20261202)
    covered = 0
    for _ in range(400):
        centres = [dice.uniform(0.2, 0.8) for _ in range(15)]
        figure = mean([[c + dice.uniform(-0.1, 0.1) for _ in range(3)] for c in centres])
        covered += figure.low <= 0.5 <= figure.high
    assert 0.92 <= covered / 400 <= 0.98


# --- what the ledger commits to ----------------------------------------------------------------------------------


def test_totals_add_up_exactly_by_cohort():
    other = replace(FAIL, task="t-9", cohort="cohort-2027-01", calls=4, unlisted=1)
    rows = [PASS, replace(PASS, task="t-2", calls=1, max_steps=7), other]
    result = totals(rows)
    assert list(result) == ["cohort-2026-12", "cohort-2027-01"]
    assert Fraction(result["cohort-2026-12"]["efficiency_sum"]) == Fraction(1, 2) + Fraction(1, 7)
    assert result["cohort-2027-01"] == {
        "run": 7,
        "cohort": "cohort-2027-01",
        "attempted": 1,
        "passed": 0,
        "unknown": 0,
        "calls": 4,
        "unlisted": 1,
        "efficiency_sum": "0/1",
        "recovery_seen": 0,
        "recovery_passed": 0,
    }


def test_a_result_document_says_whether_an_error_was_seen_and_is_plain_json():
    document = replace(PASS, errors_seen=3).document()
    assert document["saw_error"] is True
    assert json.loads(json.dumps(document)) == document
    assert json.dumps(score([PASS]).as_json())
