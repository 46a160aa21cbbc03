"""Tests of the limits on what a foreign grammar's expressions may cost, and of how little they can reach."""

import builtins
import math
import os
from random import Random

import pytest

from grammars.draw.sample import sample
from grammars.errors import Malformed
from grammars.language import cost
from grammars.language.cost import Shape
from grammars.language.expressions import Expression, Scope
from grammars.language.forms import compile_value, fill
from grammars.language.load import parse

ITEMS = {"xs": list(range(3000)), "row": {"name": "x", "long": "y" * 60_000}, "n": 10**9}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(cost, "MAX_STEPS", 100_000)
    monkeypatch.setattr(cost, "MAX_WORK", 1_000_000)


def evaluated(source):
    return Expression.parse(source, "here").evaluate(Scope(ITEMS))


@pytest.mark.parametrize(
    "source",
    [
        "1" + " + 1" * 100_000,
        "row" + ".name" * 100_000,
        "xs.map(a, xs.map(b, xs.map(c, a + b + c)))",
        "[1].map(a, [a]).map(a, [a]).map(a, [a]).map(a, [a]).map(a, [a])",
    ],
    ids=["operators", "fields", "depth", "macros"],
)
def test_an_expression_that_is_too_long_or_too_deep_is_refused_before_cel_sees_it(source):
    with pytest.raises(Malformed, match=r"^here: .*(longer than 1000 characters|inside one another)"):
        Expression.parse(source, "here")


@pytest.mark.parametrize(
    "source",
    [
        "xs.map(//\na, xs.map(//\nb, xs.map(//\nc, 1)))",
        "xs.//\nmap(a, 1)",
        '// "\nxs.map(a, 1) // "',
        r"""r"\" == "" || xs.map(a, 1) == [] || "" == r"\" """,
        r"""R'\' == '' || xs.map(a, 1) == [] || '' == R'\' """,
        r"""b'\'' == b'' || xs.map(a, 1) == []""",
        """'''"''' == '' || xs.map(a, 1) == [] || '' == '''"''' """,
        """\"\"\"'\"\"\" == '' || xs.map(a, 1) == []""",
    ],
)
def test_no_macro_hides_behind_a_comment_or_a_text(source):
    with pytest.raises(Malformed, match=r"a comment, or a raw or triple-quoted text"):
        Expression.parse(source, "here")


@pytest.mark.parametrize(
    "source",
    ["xs.map((a), a)", "xs.map(.a, a)", "xs.filter(\n((a)), true)", "xs.all((a), true)", "xs.existsOne(a, a == 1)"],
)
def test_a_macro_in_a_form_that_is_not_counted_is_refused(source):
    with pytest.raises(Malformed, match=r"a macro is written as"):
        Expression.parse(source, "here")


def test_a_list_that_is_made_of_each_item_of_a_list_counts_by_its_square():
    shape = Shape.of("[xs].map(a, a.map(b, a))")
    assert (shape.factor, shape.depth) == (2, 2)
    most = math.isqrt(cost.MAX_WORK // 2)
    assert shape.permits(most)
    assert not shape.permits(most + 1)


def test_what_a_text_holds_hides_nothing():
    assert Expression.parse("xs.map(a, 'https://x').size() + 'r\"'.size()", "here").evaluate(Scope({"xs": [1]})) == 3


@pytest.mark.parametrize(
    "source",
    [
        "xs.map(a, xs.map(b, a + b))",
        "xs.map(a, xs.filter(b, b == a))",
        "xs.exists(a, xs.exists(b, a + b == -1))",
        "size([row.long].map(a, a + a + a + a + a + a + a + a + a).map(a, a + a + a + a + a + a + a + a + a)"
        ".map(a, a + a + a + a + a + a + a + a + a).map(a, a + a + a + a + a + a + a + a + a))",
        "[row].map(a, [a, a, a, a, a, a, a]).map(a, [a, a, a, a, a, a, a]).map(a, [a, a, a, a, a, a, a])"
        ".map(a, [a, a, a, a, a, a, a])",
        "lists.range(n)",
        "size(lists.range(1000000000))",
        "pad(1, n)",
        "'0' + pad(1, 1000000000)",
        "row.long.replace('y', row.long)",
        "size(xs.map(x, '').join(row.long))",
        "distinct(xs)",
        "csv(xs, xs)",
        "table(xs, xs)",
        "size(row.long.split('') + row.long.split('') + row.long.split('') + row.long.split('') + row.long.split(''))"
        " + size(sets.contains(xs, xs) ? xs : [])",
    ],
)
def test_an_expression_that_costs_too_much_ends_in_one_sentence(source):
    with pytest.raises(Malformed, match=r"^here: .* costs more than a draw may$"):
        evaluated(source)


def test_values_that_double_from_name_to_name_end_the_draw():
    scope = Scope({"a0": [1, 2]})

    def double(number):
        made = compile_value({"p": f"=a{number}", "q": f"=a{number}"}, "here")
        scope.bind(f"a{number + 1}", fill(made, scope))

    with pytest.raises(Malformed, match="costs more than"):
        list(map(double, range(64)))


def test_members_that_are_repeated_without_an_end_end_the_draw():
    node = compile_value([{"each": "xs", "do": [{"each": "xs", "do": [{"each": "xs", "do": ["a"]}]}]}], "here")
    with pytest.raises(Malformed, match="costs more than"):
        fill(node, Scope(ITEMS))


@pytest.mark.parametrize(
    "spec", ["{words: 1000000000}", "{rows: 1000000000, columns: {a: {words: 1}}}", "{integer: '=pad(1, 99999999)'}"]
)
def test_a_parameter_that_costs_too_much_ends_the_draw(small, spec):
    grammar = parse({"small.yaml": small.replace("{choice: [apple, pear, plum]}", spec)}, {"words": "[a, b]"})
    with pytest.raises(Malformed, match=r"small\.yaml: .*costs more than"):
        sample(grammar, Random(1))


@pytest.mark.parametrize(
    "source",
    [
        "row.__class__",
        "row['__class__']",
        "row.__class__.__base__.__subclasses__()",
        "xs[0].__init__.__globals__",
        "__import__('os').system('touch canary')",
        "lines.__globals__",
        "open('canary', 'w')",
        'exec(\'open("canary", "w")\')',
        "getattr(row, 'name')",
        "row.keys()",
        "'{0.__class__}'.format(row)",
        "sort_by([row], '__class__')",
        "table([row], ['__class__'])",
        "row.name.matches('(a+)+$')",
    ],
)
def test_an_expression_reaches_nothing_of_python(source, tmp_path, monkeypatch):
    calls = []
    monkeypatch.chdir(tmp_path)
    for module, name in ((builtins, "exec"), (builtins, "open"), (os, "system")):
        monkeypatch.setattr(module, name, lambda *words, name=name: calls.append(name))
    with pytest.raises(Malformed):
        evaluated(source)
    monkeypatch.undo()
    assert calls == []
    assert list(tmp_path.iterdir()) == []
