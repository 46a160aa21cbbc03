"""Tests of migrations: they make the tables that the code declares, up and down with data, and in two processes."""

import hashlib
import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from quarterturn import migrations
from quarterturn.errors import Refused
from quarterturn.migrations.scripts.metadata import METADATA
from quarterturn.submissions.store.requests import SubmissionRequest
from vault.database import open_engine, transaction

from .children import Child, Gate

pytestmark = pytest.mark.both_databases

RELEASED = {"0001_the_first_tables.py": "8908a0c4971c8d9d58d8884a7fd99a8ee301f7ab755f3c2f5c2eb18e876a123d"}
"""Migrations of released versions, by the SHA-256 of their files."""

FAILS = """
from alembic import op
revision, down_revision = "0003", "0002"
def upgrade():
    op.execute("CREATE TABLE vault_more (number INTEGER)")
    op.execute("UPDATE vault_task SET no_such_column = 1")
"""


@pytest.fixture
def engine(url):
    engine = open_engine(url)
    yield engine
    engine.dispose()


def add_migration(folder: Path, patch: pytest.MonkeyPatch, code: str) -> None:
    """Make this the version after the newest one, with one more migration."""
    shutil.copytree(migrations.FOLDER, folder)
    (folder / "versions" / "0003_more.py").write_text(code)
    patch.setattr(migrations, "FOLDER", folder)
    patch.setattr(migrations, "COLUMNS", {**migrations.COLUMNS, "0003": ""})
    patch.setattr(migrations, "NEWEST", "0003")


def tables(engine) -> set[str]:
    names = inspect(engine).get_table_names()
    return {name for name in names if name != "alembic_version" and not name.startswith("procrastinate_")}


def test_the_newest_revision_is_the_head_of_one_line():
    config = Config()
    config.set_main_option("script_location", str(migrations.FOLDER))
    revisions = list(ScriptDirectory.from_config(config).walk_revisions())
    assert revisions[0].revision == migrations.NEWEST
    assert all(isinstance(revision.down_revision, str | None) for revision in revisions)
    assert all(Path(revision.path).name.startswith(revision.revision) for revision in revisions)


def test_a_released_migration_is_never_edited():
    for name, digest in RELEASED.items():
        now = hashlib.sha256((migrations.FOLDER / "versions" / name).read_bytes()).hexdigest()
        assert now == digest, f"{name} made the tables of homes that exist: leave it as it was and add a migration"


def test_the_migrations_make_the_tables_that_the_code_declares(engine):
    migrations.upgrade(engine)
    foreign = set(inspect(engine).get_table_names()) - tables(engine)
    with engine.connect() as connection:
        opts = {"compare_type": True, "render_as_batch": True, "include_name": lambda name, *_: name not in foreign}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, METADATA) == []
        assert migrations.columns_digest(connection) == migrations.COLUMNS[migrations.NEWEST]
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


def test_a_home_with_data_goes_down_and_up(live, opened):
    house = opened(live)
    assert house.vault.records("live")
    house.accounts.create("ada", "submitter")
    house.submissions.take("ada", SubmissionRequest("private", image="agent:1"), month="2026-12")
    migrations.downgrade(house.engine)
    assert tables(house.engine) == set()
    migrations.upgrade(house.engine)
    assert house.vault.records() == []


def test_a_migration_that_fails_changes_nothing(engine, monkeypatch):
    with transaction(engine) as session:
        session.connection().execute(text("CREATE TABLE vault_blob (other INTEGER)"))
    with pytest.raises(Exception, match="already exists"):
        migrations.upgrade(engine)
    assert tables(engine) == {"vault_blob"}
    with engine.connect() as connection:
        assert migrations.current(connection) is None


def test_an_upgrade_that_fails_in_the_middle_changes_nothing(engine, tmp_path, monkeypatch):
    migrations.upgrade(engine)
    add_migration(tmp_path / "scripts", monkeypatch, FAILS)
    with pytest.raises(Exception, match="no_such_column"):
        migrations.upgrade(engine)
    assert tables(engine) == set(METADATA.tables)
    with engine.connect() as connection:
        assert migrations.current(connection) == "0002"


def test_tables_that_are_not_the_revisions_are_refused_in_a_sentence(engine, tmp_path):
    migrations.upgrade(engine)
    migrations.require_newest(engine, tmp_path)
    with transaction(engine) as session:
        session.connection().execute(text("ALTER TABLE rotation_score DROP COLUMN without"))
    with pytest.raises(Refused, match="does not have the tables of its revision, 0002: a version before"):
        migrations.require_newest(engine, tmp_path)


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
