"""Tests of the PostgreSQL predicates, on documents as their reader writes them."""

import json

import pytest

from verifiers.formats.snapshot import FILE, written
from verifiers.language.verdict import Verdict
from verifiers.states.postgres.examples import postgres_database
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("postgres", table="stock")

COLUMNS = [["id", "integer primary key"], ["name", "text"], ["price", "numeric(10,2)"], ["paid", "boolean"]]
ROWS = [["1", "lamp", "9.50", "t"], ["2", "Lamp", "0.10", "f"], ["3", None, "0.20", None]]


def shop(**changes):
    return postgres_database({"stock": COLUMNS}, {"stock": changes.get("rows", ROWS)})


def changed(table):
    """Return the shop with the document's table changed by a function."""
    document = json.loads(shop().states["postgres"][FILE].data)
    table(document["tables"][0])
    return JudgeInput({"postgres": written(document)})


@pytest.mark.parametrize(
    ("where", "there"),
    [
        ({"price": 9.5}, True),
        ({"price": 9.50001}, False),
        ({"price": "9.50"}, False),
        ({"price": 0.1}, True),
        ({"id": 1.0}, True),
        ({"id": "1"}, False),
        ({"id": True}, False),
        ({"paid": True}, True),
        ({"paid": "t"}, False),
        ({"paid": 1}, False),
        ({"name": "lamp", "price": 0.1}, False),
        ({"name": "LAMP"}, False),
        ({"name": None}, True),
        ({"name": None, "paid": None}, True),
        ({"name": "NULL"}, False),
    ],
)
def test_a_cell_is_compared_by_type_and_value(where, there):
    assert holds(shop(), "rowExists", where=where) is there


def test_sums_are_exact_and_nulls_do_not_count():
    assert holds(shop(), "sumEquals", column="price", value=0.3, where={"paid": None}) is False
    assert holds(shop(), "sumEquals", column="price", value=9.8)
    assert holds(shop(rows=[["1", "a", None, None]]), "sumEquals", column="price", value=0)
    assert not holds(shop(rows=[["1", "a", "NaN", None]]), "sumEquals", column="price", value=0)


def test_a_cell_of_more_than_one_row_is_no_ones():
    assert not holds(shop(rows=[*ROWS, ROWS[0]]), "cellEquals", where={"id": 1}, column="name", value="lamp")


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        ([["lamp", 9.5], [None, 0.2], ["Lamp", 0.1]], True),
        ([["lamp", 9.5], ["Lamp", 0.1]], False),
        ([["lamp", 9.5], [None, 0.2], ["Lamp", 0.1], ["Lamp", 0.1]], False),
        ([["lamp", 9.5], [None, 0.2], ["lamp", 0.1]], False),
        ([["lamp"], [None], ["Lamp"]], False),
    ],
)
def test_a_table_is_equal_in_any_order_and_as_often(rows, same):
    assert holds(shop(), "tableEquals", columns=["name", "price"], rows=rows) is same


def test_a_document_is_compared_by_its_content():
    def as_json(table):
        table["columns"][1] |= {"type": "jsonb", "base": "jsonb"}
        table["rows"] = [["1", '{"a": [1, 2], "b": null}', "1", "t"]]

    views = changed(as_json)
    assert holds(views, "rowExists", where={"name": '{"b":null,"a":[1.0,2]}'})
    assert not holds(views, "rowExists", where={"name": '{"b":null,"a":[2,1]}'})


def test_padding_of_a_type_does_not_count():
    def as_char(table):
        table["columns"][1] |= {"type": "character(6)", "base": "bpchar"}
        table["rows"] = [["1", "lamp  ", "1", "t"]]

    assert holds(changed(as_char), "rowExists", where={"name": "lamp"})


def test_names_are_exact_and_a_table_is_looked_for_in_one_schema():
    def moved(table):
        table["schema"] = "shadow"

    assert not holds(shop(), "tableExists", table="Stock")
    assert not holds(shop(), "columnExists", column="NAME")
    assert not holds(changed(moved), "tableExists")
    assert holds(changed(moved), "tableExists", schema="shadow")
    assert not holds(changed(moved), "rowExists", where={"id": 1})
    assert holds(shop(), "columnExists", column="price", type="decimal(10, 2)")
    assert not holds(shop(), "columnExists", column="price", type="numeric(8,2)")


def test_a_computed_column_has_no_cells():
    def computed(table):
        table["columns"][1] |= {"computed": True, "readable": False}
        table["rows"] = [["1", "2", "t"]]

    found = holds.evidence(changed(computed), "rowExists", where={"name": "lamp"})
    assert found.verdict is Verdict.FALSE
    assert "no stored column" in found.found


def test_a_column_of_a_strange_type_counts_against_the_agent_on_either_side_of_a_not():
    def strange(table):
        table["columns"][1] |= {"type": "evil", "readable": False}
        table["rows"] = [["1", "2", "t"]]

    views = changed(strange)
    holds.wins_nothing(views, "rowExists", where={"name": "lamp"})
    assert holds(views, "rowExists", where={"id": 1})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"schemas": []}',
        b'{"schemas": [], "tables": [{}]}',
        b'{"schemas": 5, "tables": 5}',
        b'{"wreckage": "it does not start"}',
        b'{"schemas": [], "tables": [{"schema": "public", "name": "stock", "columns": [], "constraints": [], '
        b'"indexes": [], "rows": [["1"]]}]}',
    ],
)
def test_wreckage_counts_against_the_agent_on_either_side_of_a_not(content):
    views = JudgeInput({"postgres": FileTree({FILE: Node("file", content)})})
    holds.wins_nothing(views, "tableExists")


@pytest.mark.parametrize(
    "views",
    [
        JudgeInput(),
        JudgeInput({"postgres": FileTree({})}),
        JudgeInput({"postgres": FileTree({"cluster": Node("directory")})}),
    ],
)
def test_a_state_that_nobody_read_back_is_unknown(views):
    assert holds.denied(views, "tableExists") is Verdict.UNKNOWN


def test_a_number_that_would_take_forever_stays_a_text():
    def huge(table):
        table["rows"] = [["1", "a", "1e999999999", None], ["9" * 5000, "b", "9" * 5000, None]]

    views = changed(huge)
    assert holds(views, "rowExists", where={"price": "1e999999999"})
    assert holds(views, "rowCount", count=2)
    assert not holds(views, "sumEquals", column="price", value=1)


def test_the_schema_is_what_was_declared():
    kept = {"columns": COLUMNS}
    assert holds(shop(), "schemaUnchanged", **kept)

    def nullable(table):
        table["columns"][0]["not_null"] = False

    def keyless(table):
        table["constraints"] = []

    def defaulted(table):
        table["columns"][1]["default"] = "'x'::text"

    def reordered(table):
        table["columns"].reverse()

    for change in (nullable, keyless, defaulted, reordered):
        assert not holds(changed(change), "schemaUnchanged", **kept)


def test_an_index_that_covers_only_some_rows_or_other_columns_is_none():
    def indexed(**entry):
        whole = {"name": "i", "unique": False, "valid": True, "partial": False, "columns": ["name", "price"], **entry}
        return changed(lambda table: table["indexes"].append(whole))

    wanted = {"columns": ["name", "price"]}
    assert holds(indexed(), "indexExists", **wanted)
    assert not holds(indexed(), "indexExists", columns=["price", "name"])
    assert not holds(indexed(), "indexExists", unique=True, **wanted)
    assert holds(indexed(unique=True), "indexExists", unique=True, name="i", **wanted)
    for spoiled in ({"partial": True}, {"valid": False}, {"columns": ["name", None]}):
        assert not holds(indexed(**spoiled), "indexExists", **wanted)


def test_a_constraint_that_was_not_checked_is_none():
    def tied(**entry):
        whole = {"name": "c", "kind": "f", "definition": "FOREIGN KEY", "valid": True, "columns": ["name"]}
        whole |= {"to": ["public", "names"], "to_columns": ["name"], **entry}
        return changed(lambda table: table["constraints"].append(whole))

    wanted = {"kind": "foreign key", "columns": ["name"], "to": "names"}
    assert holds(tied(), "constraintExists", **wanted)
    for spoiled in ({"valid": False}, {"to": ["shadow", "names"]}, {"kind": "u"}, {"columns": ["name", "id"]}):
        assert not holds(tied(**spoiled), "constraintExists", **wanted)
