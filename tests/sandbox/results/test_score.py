"""Tests of the four axes of a score: what counts, what an interval covers, and which scores share a rank."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import Malformed
from sandbox.results.interval import Figure
from sandbox.results.score import Result, Score, rank, roughly, score
from vault.task.document import SPEC_VERSION
from verifiers.language.verdict import Verdict

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
    """Return each result a task of its own, and a skeleton to every few of them."""
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


def test_an_unknown_verdict_counts_as_failed_and_forbids_a_rank():
    unknown = replace(FAIL, verdict=Verdict.UNKNOWN)
    failed, doubtful = score(a_run(*[PASS] * 9, FAIL)), score(a_run(*[PASS] * 9, unknown))
    assert doubtful.success_rate == failed.success_rate, "in both ends of the interval"
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
        score([PASS, replace(PASS, run=8, task="t-2")])


def test_a_score_names_the_rules_that_it_was_made_under():
    assert score([PASS]).as_json()["spec"] == SPEC_VERSION


def test_overlapping_intervals_share_a_rank():
    best, near, far = (score(a_run(*[PASS] * n, *[FAIL] * (100 - n))) for n in (90, 85, 30))
    assert rank([far, near, best]) == [3, 1, 1]


def between(low: float, high: float) -> Score:
    return replace(score([]), success_rate=Figure((low + high) / 2, 20, low, high), ranked=True)


def test_intervals_that_touch_share_a_rank():
    assert rank([between(0.4, 0.6), between(0.6, 0.8)]) == [1, 1]
    assert rank([between(0.4, 0.6), between(0.61, 0.8)]) == [2, 1]


def sets(sizes: list[int]):
    passed = st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes))
    return st.tuples(st.just(sizes), st.lists(passed, min_size=2, max_size=5))


SETS = st.lists(st.integers(1, 6), min_size=1, max_size=12).flatmap(sets)
"""The sizes of a set's skeletons, and which of its tasks each of some agents passed."""


def scored(sizes: list[int], passed: list[bool]) -> Score:
    skeletons = [f"s-{number}" for number, size in enumerate(sizes) for _ in range(size)]
    results = a_run(*(PASS if one else FAIL for one in passed))
    return score(replace(result, skeleton=name) for result, name in zip(results, skeletons, strict=True))


@given(SETS, st.data())
def test_one_pass_more_never_makes_a_rank_worse(agents, data):
    sizes, (first, *others) = agents
    failed = [place for place, passed in enumerate(first) if not passed]
    if failed:
        more = list(first)
        more[data.draw(st.sampled_from(failed))] = True
        peers = [scored(sizes, one) for one in others]
        assert rank([scored(sizes, more), *peers])[0] <= rank([scored(sizes, first), *peers])[0]
        low, high = scored(sizes, first).success_rate, scored(sizes, more).success_rate
        assert (low.low, low.high) < (high.low, high.high)


@given(SETS)
def test_more_passes_never_give_a_worse_rank(agents):
    """This holds also where its passes are spread over skeletons and the others' are clumped in one."""
    sizes, passed = agents
    ranks = rank([scored(sizes, one) for one in passed])
    by_passes = sorted(zip(passed, ranks, strict=True), key=lambda one: -sum(one[0]))
    assert [place for _, place in by_passes] == sorted(ranks)


# --- what the ledger commits to ----------------------------------------------------------------------------------


def test_a_result_document_says_whether_an_error_was_seen_and_is_plain_json():
    document = replace(PASS, errors_seen=3).document("ab" * 32)
    assert document["saw_error"] is True
    assert json.loads(json.dumps(document)) == document
    assert json.dumps(score([PASS]).as_json())


@pytest.mark.parametrize(("count", "rough"), [(0, 0), (7, 7), (12, 10), (17, 20), (95, 100), (149, 100), (8200, 8000)])
def test_a_count_is_shown_by_its_first_digit(count, rough):
    assert roughly(count) == rough
