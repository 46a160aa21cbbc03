"""Tests of the SQLite predicates: equality of values, sums, and the meaning of names."""

import pytest

from verifiers.language.verdict import Verdict
from verifiers.states.sqlite.examples import database

from .builders import Asked

ask = Asked("sqlite")

STOCK = ["CREATE TABLE stock (id INTEGER PRIMARY KEY, item TEXT, price)", "INSERT INTO stock VALUES (1, 'lamp', 9.5)"]


@pytest.mark.parametrize(
    ("stored", "value", "equal"),
    [
        ("1", 1, True),
        ("1", 1.0, True),
        ("1.0", 1, True),
        ("'1'", 1, False),
        ("1", "1", False),
        ("'1'", "1", True),
        ("null", None, True),
        ("null", "", False),
        ("''", None, False),
        ("x'31'", "1", False),
        ("'a'", "A", False),
        ("9007199254740993", 9007199254740992.0, False),
        ("9e999", "inf", False),
        ("cast(x'ff' as text)", "\ufffd", False),
    ],
)
def test_values_are_compared_by_type_and_value(stored, value, equal):
    views = database(["CREATE TABLE t (v)", f"INSERT INTO t VALUES ({stored})"])
    assert ask(views, "rowExists", table="t", where={"v": value}) is equal
    assert ask(views, "rowCount", table="t", where={"v": value}, count=1) is equal
    assert ask(views, "tableEquals", table="t", columns=["v"], rows=[[value]]) is equal


def test_a_column_of_numbers_does_not_turn_a_text_into_one():
    views = database(["CREATE TABLE t (v INTEGER)", "INSERT INTO t VALUES ('7')"])  # the column's affinity made it 7
    assert ask(views, "rowExists", table="t", where={"v": 7})
    assert not ask(views, "rowExists", table="t", where={"v": "7"})


def test_rows_are_a_bag():
    views = database(["CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, null)"])
    assert ask(views, "tableEquals", table="t", columns=["b", "a"], rows=[[None, 2], ["x", 1], ["x", 1.0]])
    assert not ask(views, "tableEquals", table="t", columns=["b", "a"], rows=[[None, 2], ["x", 1]])
    assert not ask(views, "tableEquals", table="t", columns=["b", "a"], rows=[[None, 2], [None, 2], ["x", 1]])
    assert ask(views, "tableEquals", table="t", columns=["a"], rows=[[1], [1]], where={"b": "x"})
    assert ask(database(["CREATE TABLE t (a)"]), "tableEquals", table="t", columns=["a"], rows=[])


def test_a_cell_must_be_the_only_one():
    views = database([*STOCK, "INSERT INTO stock VALUES (2, 'lamp', 9.5)"])
    assert ask(views, "cellEquals", table="stock", where={"id": 2}, column="item", value="lamp")
    assert not ask(views, "cellEquals", table="stock", where={"item": "lamp"}, column="price", value=9.5)


def test_sums_are_exact_and_their_tolerance_explicit():
    views = database(["CREATE TABLE t (v, g)", "INSERT INTO t VALUES (0.1, 1), (0.2, 1), (null, 1), (5, 2)"])
    assert ask(views, "sumEquals", table="t", column="v", value=0.3, where={"g": 1})
    assert not ask(views, "sumEquals", table="t", column="v", value=5)
    assert ask(views, "sumEquals", table="t", column="v", value=5, tolerance=0.3)
    for odd in ("'5'", "9e999", "x'05'"):
        spoilt = database(["CREATE TABLE t (v)", f"INSERT INTO t VALUES ({odd})"])
        assert "not a number" in ask.evidence(spoilt, "sumEquals", table="t", column="v", value=5).found
    huge = database(["CREATE TABLE t (v)", "INSERT INTO t VALUES (1e308), (1e308), (0.5)"])
    assert not ask(huge, "sumEquals", table="t", column="v", value=5)


def test_names_are_folded_and_odd_ones_quoted():
    views = database(['CREATE TABLE "we""ird; --" ("a b", "SELECT")', 'INSERT INTO "we""ird; --" VALUES (1, 2)'])
    assert ask(views, "cellEquals", table='WE"IRD; --', where={"A B": 1}, column="select", value=2)
    assert not ask(views, "columnExists", table='we"ird; --', column="a")
    assert "has no stored column" in ask.evidence(views, "rowExists", table='we"ird; --', where={"'a b'": 1}).found
    assert "there is no table" in ask.evidence(views, "rowCount", table="we", count=0).found


def test_a_schema_is_compared_with_its_declaration():
    declared = [["id", "INTEGER PRIMARY KEY"], ["item", "TEXT"], ["price", ""]]
    assert ask(database(STOCK), "schemaUnchanged", table="stock", columns=declared)
    for other in (
        declared[:2],
        [*declared[:2], ["price", "REAL"]],
        [*declared[:1], ["item", "TEXT NOT NULL"], ["price", ""]],
    ):
        assert not ask(database(STOCK), "schemaUnchanged", table="stock", columns=other)
    wrong = ask.evidence(database(STOCK), "schemaUnchanged", table="stock", columns=[["id", "INTEGER ("]])
    assert wrong.verdict is Verdict.UNKNOWN
