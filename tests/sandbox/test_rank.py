"""Tests of ranks: only a gap between two intervals separates ranks, and one more pass never worsens a rank."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sandbox.results.interval import Figure
from sandbox.results.score import Result, Score, rank, score
from verifiers.language.verdict import Verdict


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
    verdicts = [Verdict.TRUE if one else Verdict.FALSE for one in passed]
    blank = Result(1, "", "c", "sqlite", "composition", Verdict.FALSE, False, 3, 8, 0, 0, "")
    return score(
        replace(blank, task=f"t-{place}", skeleton=skeleton, verdict=verdict, passed=verdict is Verdict.TRUE)
        for place, (skeleton, verdict) in enumerate(zip(skeletons, verdicts, strict=True))
    )


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
