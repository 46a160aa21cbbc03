"""Tests of the PostgreSQL server's state: the SQL that makes it, and its reader's document mutated."""

import json

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.postgres.apply_mutation import mutate
from sandbox.kinds.postgres.kind import STATE, seed
from verifiers.formats.snapshot import FILE
from verifiers.states.postgres.examples import postgres_database
from verifiers.tree import FileTree, Node

from .holding import holds_in

SHOP = {
    "before": ["CREATE TYPE mood AS ENUM ('ok', 'bad')"],
    "tables": {
        "sales.orders": {
            "columns": [["id", "bigint generated always as identity"], ["stock_id", "int not null"]],
            "rows": [[7, 1]],
            "constraints": ["FOREIGN KEY (stock_id) REFERENCES stock (id)"],
        },
        "stock": {
            "columns": [["id", "serial primary key"], ["item", "text"], ["info", "jsonb"]],
            "rows": [[1, "it's \\ 5\n", {"a": [1, None]}], [2, None, True]],
            "constraints": ["UNIQUE (item)"],
            "indexes": [{"columns": ["item", "info"], "unique": True, "name": "both"}, {"columns": ["info"]}],
        },
    },
    "after": ["CREATE VIEW cheap AS SELECT * FROM stock;"],
}


def script(state):
    check(STATE, state, "the state")
    return seed(state)["seed.sql"].data.decode()


def test_a_state_becomes_sql_in_an_order_that_holds():
    lines = script(SHOP).splitlines()
    order = [
        'CREATE SCHEMA "sales";',
        "CREATE TYPE mood AS ENUM ('ok', 'bad');",
        'CREATE TABLE "stock" ("id" serial primary key, "item" text, "info" jsonb);',
        'SELECT setval(pg_get_serial_sequence(\'"stock"\', \'id\'), max("id")) FROM "stock";',
        'ALTER TABLE "stock" ADD UNIQUE (item);',
        'ALTER TABLE "sales"."orders" ADD FOREIGN KEY (stock_id) REFERENCES stock (id);',
        "CREATE VIEW cheap AS SELECT * FROM stock;",
    ]
    assert [lines.index(line) for line in order] == sorted(lines.index(line) for line in order)
    assert 'CREATE UNIQUE INDEX "both" ON "stock" ("item", "info");' in lines


def test_a_value_is_a_literal_whatever_is_in_it():
    text = script({"tables": {"t": {"columns": [["a", "text"]], "rows": [["'; DROP TABLE t; --"], ["\\'"], [0.5]]}}})
    assert "(" + "'''; DROP TABLE t; --'" + ")" in text
    assert "('\\''')" in text
    assert "('0.5')" in text


def test_the_same_state_gives_the_same_bytes_and_no_table_is_no_sql():
    assert seed(SHOP) == seed(SHOP)
    assert script({}) == ""


@pytest.mark.parametrize(
    "state",
    [
        {"tables": {"t": {"columns": [["a", "int"]], "rows": [[1, 2]]}}},
        {"tables": {"t": {"columns": [["a", "text"]], "rows": [["a\0b"]]}}},
        {"tables": {"t": {"columns": [["a", "text"]], "rows": [["\ud800"]]}}},
    ],
)
def test_impossible_values_are_refused_without_being_quoted(state):
    with pytest.raises(Malformed, match="the postgres state"):
        seed(state)


@pytest.mark.parametrize(
    "tables",
    [
        {"Stock": {"columns": [["a", "int"]]}},
        {'a"b': {"columns": [["a", "int"]]}},
        {"a.b.c": {"columns": [["a", "int"]]}},
        {"t": {"columns": []}},
        {"t": {"columns": [["a", "int; DROP TABLE t"]]}},
        {"t": {"columns": [["a", "int references other (id)"]]}},
        {"t": {"columns": [["a", "int"]], "constraints": ["CHECK (a > 0); DROP TABLE t"]}},
    ],
)
def test_ambiguous_sql_is_refused(tables):
    with pytest.raises(Malformed):
        check(STATE, {"tables": tables}, "the state")


VIEWS = postgres_database(
    {"stock": [["id", "integer primary key"], ["item", "text"], ["price", "numeric"]]},
    {"stock": [["1", "lamp", "9.50"], ["2", "desk", "80"]]},
    indexes={"stock": [["item"]]},
)
TREE = VIEWS.states["postgres"]


holds = holds_in("postgres", table="stock")


def mutated(**change):
    return mutate(TREE, {"table": "stock", **change})


def test_each_change_changes_one_thing():
    assert holds(mutated(insert={"id": 3, "price": 1}), "rowExists", where={"id": 3, "item": None, "price": 1})
    assert holds(
        mutated(update={"where": {"price": 9.5}, "set": {"item": "Lamp"}}), "rowExists", where={"item": "Lamp"}
    )
    assert holds(mutated(delete={"where": {"item": "lamp"}}), "rowCount", count=1)
    assert holds(mutated(copy={"where": {"item": "lamp"}}), "rowCount", count=2, where={"item": "lamp"}) is True
    assert not holds(mutated(drop=True), "tableExists")
    assert not holds(mutated(rename="Stock"), "tableExists")
    assert not holds(mutated(drop_column="item"), "columnExists", column="item")
    assert holds(mutated(drop_column="item"), "rowExists", where={"id": 1, "price": 9.5})
    assert holds(mutated(rename_column={"from": "item", "to": "name"}), "indexExists", columns=["name"])
    assert holds(mutated(add_column={"name": "note", "type": "text"}), "rowCount", count=2, where={"note": None})
    assert not holds(mutated(drop_index="stock_item_idx"), "indexExists", columns=["item"])
    assert not holds(mutated(drop_constraint="stock_pkey"), "constraintExists", kind="primary key", columns=["id"])
    assert holds(TREE, "rowCount", count=2), "the original stays as it was"


@pytest.mark.parametrize(
    "change",
    [
        {"delete": {"where": {"id": 9}}},
        {"update": {"where": {"id": 1}, "set": {"gone": 1}}},
        {"drop_index": "gone"},
        {"table": "gone", "drop": True},
        {"schema": "gone", "drop": True},
        {"drop": True, "rename": "x"},
        {},
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="the postgres change"):
        mutated(**change)


@pytest.mark.parametrize("tree", [seed({}), FileTree({FILE: Node("file", json.dumps({"wreckage": "x"}).encode())})])
def test_a_change_needs_a_state_that_was_read_back(tree):
    with pytest.raises(Malformed, match="the postgres change needs a state"):
        mutate(tree, {"table": "stock", "drop": True})
