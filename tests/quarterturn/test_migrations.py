"""Tests of migrations: they make the tables that the code declares, up and down with data, and in two processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from quarterturn import migrations
from quarterturn.app import Application
from quarterturn.errors import Refused
from quarterturn.migrations.scripts.metadata import METADATA
from quarterturn.runs import submission_service
from quarterturn.submissions.requests import SubmissionRequest
from vault.database import open_engine, transaction

from .children import Child, Gate

pytestmark = pytest.mark.both_databases


@pytest.fixture
def engine(url):
    engine = open_engine(url)
    yield engine
    engine.dispose()


def tables(engine) -> set[str]:
    """Name our tables, without those of procrastinate."""
    names = inspect(engine).get_table_names()
    return {name for name in names if name != "alembic_version" and not name.startswith("procrastinate_")}


def test_the_newest_revision_is_the_head_of_one_line():
    config = Config()
    config.set_main_option("script_location", str(migrations.FOLDER))
    revisions = list(ScriptDirectory.from_config(config).walk_revisions())
    assert revisions[0].revision == migrations.NEWEST
    assert all(isinstance(revision.down_revision, str | None) for revision in revisions)
    assert all(Path(revision.path).name.startswith(revision.revision) for revision in revisions)


def test_the_migrations_make_the_tables_that_the_code_declares(engine):
    migrations.upgrade(engine)
    foreign = set(inspect(engine).get_table_names()) - tables(engine)
    with engine.connect() as connection:
        opts = {"compare_type": True, "render_as_batch": True, "include_name": lambda name, *_: name not in foreign}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, METADATA) == []
    assert tables(engine) == set(METADATA.tables)


def test_declared_constraints_are_in_the_database(engine):
    """Schema comparison skips checks and uniqueness over several columns."""
    migrations.upgrade(engine)
    found = inspect(engine)
    for name, table in METADATA.tables.items():
        checks = {c.name for c in table.constraints if type(c).__name__ == "CheckConstraint"}
        uniques = {c.name for c in table.constraints if type(c).__name__ == "UniqueConstraint"}
        assert {item["name"] for item in found.get_check_constraints(name)} == checks, name
        assert {item["name"] for item in found.get_unique_constraints(name)} >= uniques, name


def test_up_twice_and_down_leaves_nothing(engine):
    migrations.upgrade(engine)
    migrations.upgrade(engine)
    migrations.downgrade(engine)
    assert tables(engine) == set()
    migrations.upgrade(engine)
    assert tables(engine) == set(METADATA.tables)


def test_a_home_with_data_goes_down_and_up(live):
    house = Application(live, None)
    try:
        assert house.vault.records("live")
        house.accounts.create("ada", "submitter")
        submission_service.submit(
            house, "ada", SubmissionRequest("private", image="agent:1"), idempotency_key=None, enqueue=lambda *_: None
        )
        migrations.downgrade(house.engine)
        assert tables(house.engine) == set()
        migrations.upgrade(house.engine)
        assert house.vault.records() == []
    finally:
        house.close()


def test_a_migration_that_fails_changes_nothing(engine, monkeypatch):
    with transaction(engine) as session:
        session.connection().execute(text("CREATE TABLE vault_blob (other INTEGER)"))
    with pytest.raises(Exception, match="already exists"):
        migrations.upgrade(engine)
    assert tables(engine) == {"vault_blob"}
    with engine.connect() as connection:
        assert migrations.current(connection) is None


def test_a_database_of_a_newer_version_is_left_alone(engine):
    migrations.upgrade(engine)
    with transaction(engine) as session:
        session.connection().execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Refused, match="at revision 9999 and this version knows"):
        migrations.upgrade(engine)


@pytest.mark.slow
def test_processes_that_migrate_at_once_wait_for_each_other(url):
    with Gate() as gate:

        def work() -> None:
            gate.wait()
            migrations.upgrade(open_engine(url))

        workers = [Child(work) for _ in range(4)]
        gate.open(4)
        said = [worker() for worker in workers]
    assert [(one.code, one.text) for one in said] == [(0, "")] * 4
    engine = open_engine(url)
    assert tables(engine) == set(METADATA.tables)
    engine.dispose()
