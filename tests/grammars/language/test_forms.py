"""Tests of values and texts with expressions in them: compiled, filled, and refused with their place."""

import pytest

from grammars.errors import Malformed
from grammars.language.expressions import Expression, Scope
from grammars.language.forms import compile_text, compile_value, fill, names_in


def filled(value, **names):
    return fill(compile_value(value, "here"), Scope(names))


def test_a_whole_expression_keeps_its_type_and_text_takes_expressions_in():
    value = {"n": "=size(items)", "{key}-1": "x{items[0]}y{{z}}", "plain": 3, "list": ["={'a': 1}", "=items"]}
    assert filled(value, items=["a", "b"], key="k") == {
        "n": 2, "k-1": "xay{z}", "plain": 3, "list": [{"a": 1}, ["a", "b"]],
    }  # fmt: skip


def test_braces_and_quotes_inside_an_expression_do_not_end_it():
    assert filled("{ {'a}': 'b'}['a}'] }!") == "b!"


def test_each_and_when_make_none_one_or_many_members():
    value = [
        {"each": "rows", "as": "r", "when": "r.n > 1", "do": [{"each": "r.parts", "p": "{r.n}{it}"}, "=r.n"]},
        {"when": "size(rows) > 5", "never": True},
        "last",
    ]
    rows = [{"n": 1, "parts": ["a"]}, {"n": 2, "parts": ["b", "c"]}, {"n": 3, "parts": []}]
    assert filled(value, rows=rows) == [{"p": "2b"}, {"p": "2c"}, 2, 3, "last"]


def test_the_names_that_a_value_needs_leave_out_those_that_it_binds():
    node = compile_value([{"each": "rows.filter(x, x.n > low)", "as": "r", "a": "{r.n}{other}"}], "here")
    assert names_in(node) == {"rows", "low", "other"}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("=1 +", r"here: '1 \+' is no CEL expression"),
        ("=nosuch(1)", r"here: there is no function nosuch\(\)"),
        ("a {b", r"here: an opening brace"),
        ("a }b", r"here: a closing brace"),
        ([{"each": "x"}], r"here\[0\]: each and when need"),
        ([{"each": "x", "do": 3}], r"here\[0\]\.do: a list"),
        ("=gone + 1", "here: 'gone [+] 1' cannot be evaluated: there is no name gone"),
        ("=row.gone", "there is no field 'gone'"),
        ("=[1][row.n]", "a list is shorter than that"),
        ("=1 / (row.n - 5)", "divides by zero"),
        ("=row.n + 'x'", "types do not fit"),
        ("=sort_by(row.n, 'x')", r"sort_by\(\) cannot take"),
        ("{row}", r"\{row\} gives a dict, not text or an integer"),
        ([{"when": "row.n", "a": 1}], "must give true or false"),
        ([{"each": "row.n", "a": 1}], r"here\[0\]\.each: 'row\.n' must give a list"),
    ],
)
def test_a_malformed_expression_is_refused_with_its_place(value, says):
    with pytest.raises(Malformed, match=says):
        filled(value, row={"n": 5})


def test_a_refusal_quotes_no_drawn_value(caplog):
    expression = Expression.parse("lines(secret) + split(secret, 3)", "here")
    with pytest.raises(Malformed) as caught:
        expression.evaluate(Scope({"secret": ["tulip-4711", 12, {"x": "tulip-4711"}]}))
    assert "tulip" not in str(caught.value)
    assert "tulip" not in caplog.text


def test_a_loop_variable_hides_a_name_and_gives_it_back():
    scope = Scope({"it": "outer", "xs": [1, 2]})
    node = compile_value([{"each": "xs", "a": "=it"}, {"b": "=it"}], "here")
    assert fill(node, scope) == [{"a": 1}, {"a": 2}, {"b": "outer"}]


def test_text_without_expressions_is_just_text():
    assert compile_text("plain", "here") == "plain"
