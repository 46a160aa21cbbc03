"""Tests of the vault's tables: migrated on both databases, with no column for plaintext."""

import pytest
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from sqlalchemy import MetaData
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel

from vault.database import open_engine
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


@pytest.fixture
def wanted():
    wanted = MetaData(naming_convention=SQLModel.metadata.naming_convention)
    for table in TABLES:
        table.to_metadata(wanted)
    return wanted


def test_a_database_made_from_the_tables_has_nothing_left_to_migrate(engine, wanted):
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, wanted) == []


def test_a_first_migration_can_be_written_from_the_tables(url, wanted):
    fresh = open_engine(url)
    with fresh.connect() as connection:
        context = MigrationContext.configure(connection, opts={"render_as_batch": True})
        script = produce_migrations(context, wanted)
        code = render_python_code(script.upgrade_ops, render_as_batch=True, migration_context=context)
    fresh.dispose()
    assert all(f"'{table.name}'" in code for table in TABLES)
    assert "name=op.f('uq_vault_ledger_leaf_key')" in code


def test_a_tasks_row_holds_only_what_is_public_sealed_or_keyed():
    assert set(TaskRow.__table__.columns.keys()) == {
        *(
            "id",
            "state",
            "server",
            "category",
            "difficulty",
            "author",
            "public_grammar",
            "created_at",
            "traceable",
            "drawn_for",
        ),
        *("skeleton_tag", "template_tag", "commitment", "provenance_commitment"),
        *("key_id", "wrapped_key", "nonce", "ciphertext"),
    }
