"""Tests of parameter ranges: integers, picks, rows, and ranges that depend on difficulty or on other names."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.errors import Malformed
from grammars.language.expressions import Scope
from grammars.language.ranges import choose_from
from grammars.language.rows import parse_parameter

LISTS = {"fruit": ["fig", "kiwi", "lime"], "words": ["a", "b"], "first-names": ["Ada"], "surnames": ["Berg", "Blum"]}
LEVELS = ("easy", "hard")


def drawn(spec, seed=1, level="easy", **names):
    made = parse_parameter(spec, "f.yaml: t: p", LISTS, LEVELS)
    return made.draw(Random(seed), Scope({"difficulty": level} | names))


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7), st.integers())
def test_an_integer_lies_between_its_ends_and_on_its_steps(low, width, step, seed):
    value, bits = drawn({"integer": [low, low + width], "step": step}, seed)
    assert low <= value <= low + width
    assert (value - low) % step == 0
    assert 2**bits == pytest.approx(width // step + 1)


@given(st.integers(0, 3), st.integers())
def test_picked_values_differ_and_count_their_orders(count, seed):
    value, bits = drawn({"pick": "fruit", "count": count}, seed)
    assert len(set(value)) == count
    assert 2**bits == pytest.approx([1, 3, 6, 6][count])


def test_a_range_may_differ_by_difficulty_and_depend_on_names():
    spec = {"integer": {"easy": [1, "=n"], "hard": ["=n", "=n + 1"]}}
    assert {drawn(spec, seed, n=2).value for seed in range(40)} == {1, 2}
    assert {drawn(spec, seed, "hard", n=7).value for seed in range(40)} == {7, 8}


def test_the_other_kinds():
    assert drawn({"choice": "fruit"}).value in LISTS["fruit"]
    assert drawn({"choice": "=names"}, names=["x"]) == ("x", 0.0)
    assert set(drawn({"words": 9}).value.split()) == {"a", "b"}
    assert drawn({"name": "person"}).value["mail"] in {"ada.berg@example.org", "ada.blum@example.org"}
    assert drawn({"date": ["2024-02-29", "2024-02-29"]}).value == "2024-02-29"
    code, bits = drawn({"code": "V-#?^"})
    assert code[:2] == "V-"
    assert 2**bits == pytest.approx(10 * 26 * 26)


def test_rows_know_their_index_their_columns_and_differ_where_they_must():
    spec = {
        "rows": [3, 3],
        "columns": {"id": "=index + 1", "fruit": {"choice": "fruit"}, "label": "{row.fruit}-{row.id}{suffix}"},
        "unique": ["fruit"],
    }
    rows, bits = drawn(spec, suffix="!")
    assert sorted(row["fruit"] for row in rows) == ["fig", "kiwi", "lime"]
    assert all(row["label"] == f"{row['fruit']}-{number}!" for number, row in enumerate(rows, 1))
    assert bits > 0
    assert parse_parameter(spec, "w", LISTS, LEVELS).names == {"suffix"}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"integer": [5, 4]}, "p.integer: the range is empty"),
        ({"integer": {"easy": [5, 4], "hard": [1, 2]}}, "the range is empty"),
        ({"integer": {"easy": [1, 2]}}, "a value for each of easy, hard"),
        ({"integer": ["x", 2]}, "an integer or"),
        ({"integer": [1, 2], "step": 0}, r"p\.step"),
        ({"choice": []}, "a list that is not empty"),
        ({"choice": "nuts"}, "there is no dictionary 'nuts'; there are"),
        ({"choice": [1], "count": 2}, r"p\.count: a range of kind `choice` has no such key"),
        ({"date": ["2024-05-01", "2024-04-01"]}, "the range is empty"),
        ({"date": ["soon", "2024-04-01"]}, "two dates"),
        ({"code": "abc"}, "at least one of"),
        ({"name": "dog"}, "only `person`"),
        ({}, "exactly one of"),
        ({"integer": 3, "choice": [1]}, "exactly one of"),
        ({"rows": 3}, r"p\.columns"),
        ({"rows": 3, "columns": {"a": {"choice": [1]}}, "unique": ["b"]}, r"p\.unique"),
    ],
)
def test_a_range_that_holds_nothing_is_refused_when_it_is_read(spec, says):
    with pytest.raises(Malformed, match=says):
        parse_parameter(spec, "f.yaml: t: p", LISTS, LEVELS)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"integer": ["=n", 1]}, "the range is empty"),
        ({"choice": "=names"}, "nothing to choose from"),
        ({"pick": "fruit", "count": "=n"}, "9 different ones are wanted, and there are 3"),
        ({"rows": 4, "columns": {"a": {"choice": "fruit"}}, "unique": ["a"]}, "found no row that differs"),
    ],
)
def test_a_range_that_turns_out_empty_says_so(spec, says):
    with pytest.raises(Malformed, match=says):
        drawn(spec, n=9, names=[])


def test_a_choice_may_name_a_level_that_its_template_lacks():
    by_level = {"easy": ["a"], "medium": ["b"], "hard": ["c"]}
    chosen = choose_from(by_level, "x.yaml: choice", {}, ["easy", "medium"])
    assert set(chosen.by_level) == {"easy", "medium"}
