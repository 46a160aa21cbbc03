"""Tests of databases as a crash or a hostile agent leaves them."""

import random
import sqlite3
from contextlib import closing

import pytest

from verifiers.budget import ReadingBudget
from verifiers.language.verdict import Verdict
from verifiers.states.readers import read
from verifiers.states.sqlite.examples import database
from verifiers.tree import FileTree, JudgeInput, Node, tree_of

from .builders import Asked

ask = Asked("sqlite")

STOCK = ["CREATE TABLE stock (id INTEGER PRIMARY KEY, item TEXT, price)", "INSERT INTO stock VALUES (1, 'lamp', 9.5)"]


def left(**content):
    return JudgeInput({"sqlite": tree_of({name.replace("_", "."): data for name, data in content.items()})})


def test_an_empty_file_is_an_empty_database():
    assert not ask(left(main_db=b""), "tableExists", table="t")
    assert ask.denied(left(main_db=b""), "tableExists", table="t") is Verdict.TRUE


def test_rows_in_the_write_ahead_log_count(tmp_path):
    with closing(sqlite3.connect(tmp_path / "main.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (v)")
        connection.execute("INSERT INTO t VALUES (42)")
        whole = JudgeInput({"sqlite": FileTree.from_directory(tmp_path)})
    assert whole.states["sqlite"]["main.db-wal"].data
    assert ask(whole, "rowExists", table="t", where={"v": 42})
    bare = JudgeInput({"sqlite": FileTree({"main.db": whole.states["sqlite"]["main.db"]})})
    assert not ask(bare, "tableExists", table="t")
    folded = JudgeInput({"sqlite": FileTree.from_directory(tmp_path)})  # closing folded the log into the file
    assert folded.states["sqlite"]["main.db"].data[18:20] == b"\2\2"
    assert ask(folded, "rowExists", table="t", where={"v": 42})


def test_an_unfinished_transaction_does_not_count(tmp_path):
    with closing(sqlite3.connect(tmp_path / "main.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        connection.executemany("INSERT INTO t (v) VALUES (?)", [("before" * 100,)] * 400)
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET v = 'after'")
        torn = JudgeInput({"sqlite": FileTree.from_directory(tmp_path)})
        connection.execute("COMMIT")
    assert torn.states["sqlite"]["main.db-journal"].data
    assert ask(torn, "rowCount", table="t", where={"v": "before" * 100}, count=400)


def leave(folder, mode):
    """Leave a database in the middle of a transaction, with its journal files."""
    with closing(sqlite3.connect(folder / "main.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        for start in range(0, 30, 10):
            connection.executemany("INSERT INTO t (v) VALUES (?)", [(f"{start}" * 300,)] * 10)
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET v = 'after'")
        connection.execute("DELETE FROM t WHERE id > 5")
        return FileTree.from_directory(folder)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_log_or_a_journal_that_was_damaged_is_read_as_sqlite_reads_it(tmp_path, mode):
    whole, dice = leave(tmp_path, mode), random.Random(20261122)
    beside = "main.db-wal" if mode == "WAL" else "main.db-journal"
    for number in range(40):
        data = bytearray(whole[beside].data)
        if number % 2:
            del data[dice.randrange(len(data)) :]
        elif number:
            data[dice.randrange(len(data)) if number % 4 else dice.randrange(60)] ^= 1 << dice.randrange(8)
        tree = FileTree({"main.db": whole["main.db"], beside: Node("file", bytes(data))})
        place = tmp_path / str(number)
        place.mkdir()
        for name, node in tree.items():
            (place / name).write_bytes(node.data)
        with closing(sqlite3.connect(place / "main.db")) as careless:
            careless.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            try:
                expected = [list(row) for row in careless.execute("SELECT id, v FROM t NOT INDEXED")]
            except sqlite3.Error:
                expected = None
        state = read("sqlite", tree)
        if "needs more than" in state.unreadable:  # of a database that is said to be as large as that
            continue
        tables = {} if state.unreadable else {table["name"]: table for table in state.document["tables"]}
        there = tables.get("t", {}).get("rows")
        assert (there if isinstance(there, list) else None) == expected, number


def test_a_journal_that_names_another_file_is_refused_and_the_file_stays(tmp_path):
    victim = tmp_path / "victim-mj000000001"
    victim.write_text("x")
    name = str(victim).encode()
    tail = (
        len(name).to_bytes(4, "big") + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    )
    views = database(STOCK)
    data = views.states["sqlite"]["main.db"].data
    journal = bytes.fromhex("d9d505f920a163d7") + bytes(504) + b"\0\0\0\1" + name + tail
    spoilt = left(**{"main_db": data, "main_db-journal": journal})
    assert not ask(spoilt, "tableExists", table="stock")
    assert "names another file" in ask.evidence(spoilt, "tableExists", table="stock").found
    assert victim.exists()


# --- what a hostile hand makes -------------------------------------------------------------------------------------


def test_a_view_or_a_virtual_table_is_no_table():
    view = database([*STOCK, "ALTER TABLE stock RENAME TO old", "CREATE VIEW stock AS SELECT 1 AS id, 'desk' AS item"])
    assert not ask(view, "rowExists", table="stock", where={"item": "desk"})
    virtual = database(["CREATE VIRTUAL TABLE stock USING fts5(item)", "INSERT INTO stock VALUES ('desk')"])
    assert not ask(virtual, "tableExists", table="stock")


def test_a_column_that_is_computed_when_it_is_read_is_not_read():
    columns = "a, b AS (hex(zeroblob(9000))), c AS (a + 1) STORED"
    views = database([f"CREATE TABLE t ({columns})", "INSERT INTO t (a) VALUES (1)"])
    assert ask(views, "rowExists", table="t", where={"a": 1})
    assert ask(views, "rowExists", table="t", where={"c": 2})
    assert "no stored column" in ask.evidence(views, "rowExists", table="t", where={"b": "x"}).found


PEOPLE = ["CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO people VALUES (2, 'Ada')"]
REWRITE = "PRAGMA writable_schema = ON"


def tampered(*statements):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        return left(main_db=connection.serialize())


def test_an_index_that_was_passed_off_for_the_table_is_not_read():
    forged = tampered(
        *PEOPLE,
        "ALTER TABLE people ADD COLUMN note TEXT",  # without it the index would be no shorter than the table
        "CREATE INDEX by_name ON people (name)",
        "CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO other VALUES (2, 'Grace')",
        "CREATE INDEX forged ON other (name)",
        REWRITE,
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'forged') "
        "WHERE name = 'by_name'",
        "DELETE FROM sqlite_master WHERE name = 'forged'",
    )
    assert not ask(forged, "rowExists", table="people", where={"name": "Grace"})
    assert ask(forged, "rowExists", table="people", where={"name": "Ada"})
    with closing(sqlite3.connect(":memory:")) as careless:
        careless.deserialize(forged.states["sqlite"]["main.db"].data)
        assert careless.execute("SELECT name FROM people").fetchall() == [("Grace",)]


@pytest.mark.parametrize("between", ["/**/", "--\n", "\t", "\n"])
def test_a_virtual_table_in_a_table_s_clothes_is_no_table(between):
    clothed = tampered(
        "CREATE VIRTUAL TABLE people USING fts5(id, name)",
        "INSERT INTO people VALUES (2, 'Grace')",
        REWRITE,
        f"UPDATE sqlite_master SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE{between}VIRTUAL') WHERE name = "
        "'people'",
    )
    assert not ask(clothed, "tableExists", table="people")
    assert not ask(clothed, "rowExists", table="people", where={"name": "Grace"})


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE sqlite_master SET sql = 'CREATE TABLE people (id, name AS (''Grace''))' WHERE name = 'people'",
        "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'people'",
        "UPDATE sqlite_master SET sql = 'CREATE VIEW people AS SELECT 2 AS id, ''Grace'' AS name', type = 'view', "
        "rootpage = 0 WHERE name = 'people'",
        "UPDATE sqlite_master SET sql = 'CREATE VIEW people AS SELECT 2 AS id, ''Grace'' AS name' WHERE rootpage = 2",
        "UPDATE sqlite_master SET name = 'other' WHERE name = 'people'",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE people (id, name DEFAULT (load_extension(''x'')))'",
        "UPDATE sqlite_master SET sql = NULL WHERE name = 'people'",
        "INSERT INTO sqlite_master VALUES ('trigger', 't', 'people', 0, 'CREATE TRIGGER t AFTER INSERT ON people BEGIN "
        "SELECT load_extension(''x''); END')",
    ],
)
def test_a_schema_that_was_rewritten_is_a_verdict_and_no_lie_is_believed(lie):
    assert not ask(tampered(*PEOPLE, REWRITE, lie), "rowExists", table="people", where={"id": 2, "name": "Grace"})


def test_reading_ends_at_a_count_of_steps_and_not_of_seconds():
    rows = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i FROM n"
    )
    views = database(["CREATE TABLE t (v)", rows])
    assert ask(views, "rowCount", table="t", count=5000)
    few = read("sqlite", views.states["sqlite"], ReadingBudget(steps=3000))
    assert few.unreadable == "reading it needs more than 3000 steps"
    assert few.steps == 3000


@pytest.mark.parametrize(
    "data", [b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096, b"garbage"]
)
def test_a_corrupt_database_is_false_and_never_unknown(data):
    ask.wins_nothing(left(main_db=data), "tableExists", table="t")
    assert not ask(left(**{"main_db": data, "main_db-wal": b"\x37\x7f\x06\x82" * 100}), "tableExists", table="t")


def test_a_missing_or_linked_database_is_wreckage():
    for tree in (FileTree({}), FileTree({"main.db": Node("symlink", target="/etc/passwd")})):
        assert "no database file" in ask.evidence(JudgeInput({"sqlite": tree}), "tableExists", table="t").found
        assert not ask(JudgeInput({"sqlite": tree}), "tableExists", table="t")
