"""Tests of the vault's tables: migrated on both databases, with no column for plaintext."""

import pytest
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from vault.store.tables import TaskRow

from ..conftest import TABLES


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)
def test_both_databases_can_have_every_table_with_every_constraint_named(table, dialect):
    sql = str(CreateTable(table).compile(dialect=dialect))
    for kind in ("PRIMARY KEY", "UNIQUE", "CHECK", "FOREIGN KEY"):
        for line in sql.splitlines():
            if f" {kind} (" in line:
                assert line.strip().startswith("CONSTRAINT "), line
    for index in table.indexes:
        assert f"ix_{table.name}_" in str(CreateIndex(index).compile(dialect=dialect))


def test_a_tasks_row_holds_only_what_is_public_sealed_or_keyed():
    assert set(TaskRow.__table__.columns.keys()) == {
        *("id", "state", "server", "category", "difficulty", "author"),
        *("public_grammar", "created_at", "traceable", "drawn_for"),
        *("skeleton_tag", "template_tag", "commitment", "provenance_commitment"),
        *("key_id", "wrapped_key", "nonce", "ciphertext"),
    }
