"""Tests of the token budget of one task, with concurrent requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.model_gateway.budget import DEFAULT_ANSWER, LEAST_ANSWER, TokenBudget, estimate


def test_an_answer_is_clamped_to_what_is_left():
    budget = TokenBudget(1000)
    first = budget.reserve(400, 5000)
    assert (first.read, first.written) == (100, 900)
    assert budget.reserve(4, 16) is None  # all of it is held
    budget.settle(first, 100, 20)
    assert budget.reserve(4, 16).written == 16
    assert budget.used == 120


def test_without_a_limit_there_is_one():
    assert TokenBudget(100_000).reserve(4, None).written == DEFAULT_ANSWER


def test_with_too_little_budget_left_nothing_is_sent():
    assert TokenBudget(LEAST_ANSWER).reserve(4, 1) is None
    assert TokenBudget(LEAST_ANSWER + 1).reserve(4, 1).written == 1


@given(st.lists(st.tuples(st.integers(1, 4000), st.integers(1, 500) | st.none(), st.booleans()), max_size=30))
def test_used_and_reserved_tokens_never_exceed_the_budget(asked):
    budget, open_ones = TokenBudget(2000), []
    for size, limit, ends in asked:
        if reserved := budget.reserve(size, limit):
            open_ones.append(reserved)
        if ends and open_ones:
            done = open_ones.pop(0)
            budget.settle(done, done.read, done.written // 2)
        assert budget.used + budget.held <= 2000
    for one in open_ones:
        budget.settle(one, 0, 0)
    assert budget.held == 0


def test_a_token_is_four_bytes_and_never_less_than_one():
    assert [estimate(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
