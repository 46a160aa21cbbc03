"""Tests of the linear regular expressions: they agree with `re`, and no text makes them slow."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import Malformed
from verifiers.language.predicate import parse
from verifiers.linear_regex import MAX_PATTERN, compiled, search

PATTERNS = [
    r"a+b?",
    r"^(ab|c)*$",
    r"(?i)Total:\s*\d{2,3}\b",
    r"(?m)^\w+,[^,\n]+$",
    r"(?s)a.+z",
    r"[^a-c\d]x|\Aq",
    r"(?P<year>\d{4})-(?:\d\d)",
    r"a{2,}\.\Z",
    r"(a|b|ab)*?c",
    r"[\]\-x]{1,2}é",
    r"\Bb\B",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text(alphabet="abcxzqT1290:-,.]é\n total", min_size=1, max_size=12).filter(lambda t: t[-1] != "\n"))
def test_they_find_what_re_finds(pattern, text):
    assert search(compiled(pattern), text, ReadingBudget()) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", r"a(?=b)", r"(?<!a)b", r"a++", r"a**", "(", ")", "[a", "*", r"\p", "a{9999}", r"\x-1", r"\u+001"],
)
def test_what_would_need_backtracking_or_is_no_pattern_is_refused(pattern):
    with pytest.raises(Malformed, match="pattern"):
        compiled(pattern)


def test_a_text_that_makes_backtracking_hang_costs_what_it_is_long():
    budget = ReadingBudget()
    assert not search(compiled("^(a|a?)*$"), "a" * 20_000 + "!", budget)
    assert budget.steps < 20_000


@pytest.mark.parametrize("pattern", ["(((){200}){200}){40}", f"(?:(?:{'|' * 400}){{200}}){{2}}"])
def test_repeats_of_an_empty_group_have_an_end(pattern):
    with pytest.raises(Malformed, match="repeats too much"):
        compiled(pattern)


def test_what_costs_too_much_is_counted():
    with pytest.raises(BudgetSpent):
        search(compiled("a[ac]{150}b"), "aac" * 3000, ReadingBudget(2_000))


def test_a_task_with_a_bad_pattern_is_refused_when_it_is_read():
    with pytest.raises(Malformed, match=r"fileMatches.*pattern: the pattern is not understood at character 2"):
        parse({"filesystem.fileMatches": {"path": "a", "pattern": "(?=a)"}})
    with pytest.raises(Malformed, match="maxLength"):
        parse({"filesystem.fileMatches": {"path": "a", "pattern": "a" * (MAX_PATTERN + 1)}})
