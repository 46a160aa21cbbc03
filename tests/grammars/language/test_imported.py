"""Tests of imported grammars: a benchmark's own grammars are as secret as its tasks."""

from datetime import UTC, datetime

import pytest
from sqlmodel import SQLModel

from grammars.errors import Malformed, Refused
from grammars.language.imported import GrammarSource, Imported
from sandbox.servers.registry import tool_table
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.store.tables import AccessRow, BlobRow, TaskRow
from vault.store.tasks import Vault
from verifiers.language.catalogue import CATALOGUE

TABLES = [row.__table__ for row in (TaskRow, BlobRow, AccessRow)]
TOOLS = {"filesystem.write_file", *(f"filesystem.t{number}" for number in range(1, 10))}


@pytest.fixture
def engine(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path / 'quarterturn.db'}")
    SQLModel.metadata.create_all(engine, tables=TABLES)
    yield engine
    engine.dispose()


@pytest.fixture
def vault(engine, tmp_path):
    ring = FileKeyRing.create(tmp_path / "keys" / "ring.json", None)
    return Vault(engine, ring, lambda: datetime(2026, 12, 1, tzinfo=UTC))


@pytest.fixture
def imported(vault):
    known = {*tool_table(), *TOOLS}
    return Imported(vault, known, CATALOGUE)


@pytest.fixture
def source(small):
    return GrammarSource({"small.yaml": small}, {})


def test_an_import_is_in_force_from_then_on_and_not_public(imported, source, vault):
    assert imported.servers() == {}
    imported.keep(source, who="ada")
    assert imported.servers() == {"filesystem": 1}
    grammar = imported.in_force(who="ada", why="draw tasks")["filesystem"]
    assert set(grammar.templates) == {"note"}
    assert not grammar.public
    assert [entry.why for entry in vault.access_log()] == ["draw tasks"]


@pytest.mark.slow
def test_a_later_import_takes_its_place_and_the_same_one_is_refused(imported, source, small):
    imported.keep(source, who="ada")
    with pytest.raises(Refused, match="the one in force already"):
        imported.keep(source, who="ada")
    imported.keep(GrammarSource({"small.yaml": small.replace("version: 1", "version: 2")}, {}), who="ada")
    assert imported.servers() == {"filesystem": 2}
    assert imported.in_force(who="ada", why="draw")["filesystem"].version == 2


def test_a_grammar_whose_keys_stand_in_another_order_is_another(imported, small):
    rows = "rows: {rows: 2, columns: {%s}}"
    one, two = "one: {integer: [1, 5]}", "two: {integer: [1, 9]}"
    texts = [
        small.replace("    parameters:\n", f"    parameters:\n      {rows % ', '.join(order)}\n", 1)
        for order in ((one, two), (two, one))
    ]
    first, second = (imported.keep(GrammarSource({"small.yaml": text}, {}), who="ada") for text in texts)
    assert first.digest == second.digest, "it leaves the order out"
    assert imported.servers() == {"filesystem": 2}


def test_a_malformed_grammar_is_not_stored(imported, small):
    wrong = GrammarSource({"small.yaml": small.replace("filesystem.write_file, arg", "filesystem.write_fil, arg")}, {})
    with pytest.raises(Malformed, match="write_fil"):
        imported.keep(wrong, who="ada")
    assert imported.servers() == {}


def test_no_word_of_it_reaches_the_database_or_a_repr(imported, source, engine):
    imported.keep(source, who="ada")
    assert "fileTextEquals" not in repr(source)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM vault_blob").all()
    assert rows
    kept = b"".join(cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row)
    assert b"the low ones of" not in kept
