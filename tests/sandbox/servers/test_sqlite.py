"""Tests of the SQLite server's state: a database file made in memory, and mutated by one statement."""

import sqlite3
from contextlib import closing

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.sqlite.apply_mutation import mutate
from sandbox.kinds.sqlite.kind import STATE, seed

STOCK = {
    "tables": {
        "stock": {
            "columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"], ["price", "REAL CHECK (price >= 0)"]],
            "rows": [[1, "pen", 0.5], [2, "o'clock", None]],
        },
        "empty one": {"columns": [["x", ""]]},
    }
}


def rows(tree, query):
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(tree["main.db"].data)
        return base.execute(query).fetchall()


def test_tables_and_rows_are_as_the_state_says():
    check(STATE, STOCK, "the state")
    tree = seed(STOCK)
    assert rows(tree, "SELECT * FROM stock ORDER BY id") == [(1, "pen", 0.5), (2, "o'clock", None)]
    assert rows(tree, 'SELECT count(*) FROM "empty one"') == [(0,)]
    assert rows(tree, "PRAGMA integrity_check") == [("ok",)]


def test_the_same_state_gives_the_same_bytes():
    assert seed(STOCK) == seed(STOCK)


def test_no_table_is_an_empty_database():
    tree = seed({})
    assert rows(mutate(tree, {"sql": "CREATE TABLE t(a)"}), "SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize(
    "table",
    [
        {"columns": [["id", "INTEGER"]], "rows": [[1, 2]]},
        {"columns": [["id", "INTEGER NOT NULL"]], "rows": [[None]]},
        {"columns": [["id", "INTEGER PRIMARY KEY"]], "rows": [[1], [1]]},
        {"columns": [["id", "INTEGER"]], "rows": [[2**70]]},
        {"columns": [["id", "INTEGER), (x"]]},
        {"columns": [["id", ""], ["ID", ""]]},
    ],
)
def test_what_sqlite_refuses_is_refused_by_the_tables_name_alone(table):
    with pytest.raises(Malformed, match="table 'ledger'"):
        seed({"tables": {"ledger": table}})


@pytest.mark.parametrize("name", ['a"b', "sqlite_x", "1a", "", "a;b"])
def test_a_table_name_that_could_be_sql_is_refused(name):
    with pytest.raises(Malformed):
        check(STATE, {"tables": {name: {"columns": [["a", ""]]}}}, "the state")


def test_a_change_is_one_statement_with_its_values():
    tree = mutate(seed(STOCK), {"sql": "UPDATE stock SET name = ? WHERE id = 1", "parameters": ["ink"]})
    assert rows(tree, "SELECT name FROM stock WHERE id = 1") == [("ink",)]


@pytest.mark.parametrize("sql", ["DELETE FROM nowhere", "SELECT 1; SELECT 2", "nonsense", "SELECT ?"])
def test_a_change_that_sqlite_refuses_is_refused(sql):
    with pytest.raises(Malformed, match="the sqlite change"):
        mutate(seed(STOCK), {"sql": sql})


def test_a_change_reaches_no_file(tmp_path):
    with pytest.raises(Malformed):
        mutate(seed(STOCK), {"sql": "ATTACH ? AS other", "parameters": [str(tmp_path / "other.db")]})
    with pytest.raises(Malformed):
        mutate(seed(STOCK), {"sql": "VACUUM INTO ?", "parameters": [str(tmp_path / "other.db")]})
    assert not list(tmp_path.iterdir())


def test_an_unreadable_database_is_refused():
    tree = seed(STOCK)
    broken = type(tree)({"main.db": type(tree["main.db"])("file", data=b"not a database at all" * 50)})
    with pytest.raises(Malformed):
        mutate(broken, {"sql": "DELETE FROM stock"})
    with pytest.raises(Malformed, match=r"main\.db"):
        mutate(type(tree)({}), {"sql": "DELETE FROM stock"})
