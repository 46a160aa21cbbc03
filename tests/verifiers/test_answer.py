"""Tests of the predicates on an agent's answer."""

import json
import re
from pathlib import Path

import pytest

from verifiers.answer.examples import answer_views
from verifiers.answer.predicates import numbers_in
from verifiers.answer.readings import readings

from .builders import Asked

asked = Asked("answer")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("42", True),
        (" The total is **42**.\n", True),
        ("42.0", True),
        ("42, I am sure: 42", True),
        ("4.2e1", True),
        ("42%", True),
        ("$42", True),
        ("-42", False),
        ("\u221242", False),
        ("420", False),
        ("between 41 and 42", False),
        ("42 or 43", False),
        ("1 2 3 42", False),
        ("v42", False),
        ("1.42.3", False),
        ("forty-two", False),
        ("", False),
    ],
)
def test_one_number_and_only_that_one(answer, holds):
    assert asked(answer_views(answer), "number", value=42) is holds


def test_numbers_are_decimals_and_tolerances_are_explicit():
    assert asked(answer_views("0.30"), "number", value=0.1 + 0.2, tolerance=1e-12)
    assert not asked(answer_views("0.3"), "number", value=0.1 + 0.2)
    assert asked(answer_views("0.3"), "number", value=0.3)
    assert asked(answer_views("1,234,567.5"), "number", value=1234567.5)
    assert asked(answer_views("9.95"), "number", value=10, tolerance=0.05)
    assert not asked(answer_views("9.949"), "number", value=10, tolerance=0.05)
    assert not asked(answer_views("9" * 5000), "number", value=9)
    assert asked(answer_views("-7"), "number", value=-7)


def test_a_flood_of_digits_and_signs_is_read_in_good_time():
    assert len(numbers_in("1," * 20_000 + "+-" * 20_000 + "1e" * 20_000)) <= 2


def test_texts_mind_case_unless_told_not_to():
    assert not asked(answer_views("blue"), "equals", text="Blue")
    assert asked(answer_views("  bLUE "), "equals", text="Blue", ignore_case=True)
    assert asked(answer_views("STRASSE"), "equals", text="straße", ignore_case=True)
    assert asked(answer_views("x is IN A.TXT"), "contains", text="a.txt", ignore_case=True)
    assert not asked(answer_views("x"), "contains", text="X")
    assert asked(answer_views("MAY 4"), "oneOf", texts=["4 May", "May 4"], ignore_case=True)


@pytest.mark.parametrize(
    "answer",
    [
        "a.txt, b.txt", "b.txt\na.txt\n", "- `b.txt`\n- a.txt", "1. b.txt\n2. a.txt", '["a.txt", "b.txt"]',
        "a.txt;b.txt", "a.txt\na.txt\nb.txt",
    ],
)  # fmt: skip
def test_a_list_may_be_written_in_several_ways(answer):
    assert asked(answer_views(answer), "set", items=["a.txt", "b.txt"])


@pytest.mark.parametrize(
    "answer", ["a.txt", "a.txt, b.txt, c.txt", "a.txt b.txt", "A.txt, b.txt", '[["a.txt"], "b.txt"]', ""]
)
def test_a_list_names_all_of_them_and_no_others(answer):
    assert not asked(answer_views(answer), "set", items=["a.txt", "b.txt"])


def test_an_ordered_list_minds_order_and_repeats():
    assert asked(answer_views("x\ny\nx"), "list", items=["x", "y", "x"])
    assert not asked(answer_views("x\nx\ny"), "list", items=["x", "y", "x"])
    assert asked(answer_views("X; Y"), "list", items=["x", "y"], ignore_case=True)


def test_items_keep_their_commas_where_each_has_a_line():
    assert asked(answer_views("Smith, John\nDoe, Jane"), "list", items=["Smith, John", "Doe, Jane"])
    assert asked(answer_views("'quoted', \"both\""), "list", items=["quoted", "both"])


def rows_of_the_specification():
    """Yield what the table of answers in docs/SPEC.md says: form, its values, an answer, and whether it passes."""
    table = (ROOT / "docs/SPEC.md").read_text(encoding="utf-8").partition("| asked for | passes | fails |\n")[2]
    for row in table.partition("\n\n")[0].splitlines()[1:]:
        asked_for, *cells = row.strip("| ").split(" | ")
        kind, *values = (asked_for.split()[1], *re.findall(r"`([^`]+)`", asked_for))
        for holds, cell in zip((True, False), cells, strict=True):
            for answer in re.findall(r"``\s(.+?)\s``(?=,|$)", cell):
                yield pytest.param(kind, values, answer.replace("⏎", "\n"), holds, id=f"{asked_for}: {answer}")


@pytest.mark.parametrize(("kind", "values", "answer", "holds"), list(rows_of_the_specification()))
def test_dressings_count_as_the_specification_says(kind, values, answer, holds):
    forms = {
        "text": [("equals", {"text": values[0]}), ("oneOf", {"texts": ["Green", values[0]]})],
        "number": [("number", {"value": int(values[0])} if kind == "number" else {})],
        "set": [("set", {"items": values})],
        "list": [("list", {"items": values})],
        "JSON": [("json", {"value": json.loads(values[0]) if kind == "JSON" else None})],
    }
    for name, arguments in forms[kind]:
        assert asked(answer_views(answer), name, **arguments) is holds


def test_the_specification_has_rows_of_each_form():
    assert len({row.values[0] for row in rows_of_the_specification()}) == 5
    assert len(list(rows_of_the_specification())) > 60


def test_a_flood_of_marks_has_few_readings():
    for marks in ("`", "*", "'\"", "`'", "_*", ". ", "```\n"):
        assert len(list(readings(marks * 30_000))) < 20


def test_a_json_answer_is_compared_by_value():
    assert asked(answer_views(' {"b": [1], "a": null}\n'), "json", value={"a": None, "b": [1.0]})
    assert not asked(answer_views('{"b": [1], "a": null, "c": 0}'), "json", value={"a": None, "b": [1.0]})
    assert not asked(answer_views('{"b": [1]}'), "json", value={"a": None, "b": [1.0]})
    assert not asked(answer_views('{"b": [1, 1], "a": null}'), "json", value={"a": None, "b": [1.0]})
    assert not asked(answer_views("[" * 100_000), "json", value=[])
