"""Tests that homes of released versions open, show their leaderboard and their log, and can be upgraded."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from freezing.home import HOMES
from quarterturn import migrations
from quarterturn.cli import run
from vault.database import open_engine

from ..quarterturn.test_migrations import add_migration

MORE = """
from alembic import op
revision, down_revision = "0004", "0003"
def upgrade():
    op.execute("CREATE TABLE vault_more (number INTEGER)")
"""
RELEASED = {"0.9.0": "a41e01f7aa96845c12b3963e85c571fb4848c670564fcadfbf2da8b550ef9874"}


@pytest.fixture(params=RELEASED)
def home(request, tmp_path) -> Path:
    """Unpack the frozen home of a version."""
    with tarfile.open(HOMES / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path / "home", filter="data")
    return tmp_path / "home"


@pytest.fixture
def ask(home, capsys):
    """Return a function that runs a verb on the home and returns its exit code and what it said."""

    def ask(*words: str) -> tuple[int, str]:
        code = run([*words, "--home", str(home)])
        return code, "".join(capsys.readouterr())

    return ask


def tables(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "quarterturn.db")) as rows:
        return {name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def digest(home: Path) -> str:
    engine = open_engine(f"sqlite:///{home / 'quarterturn.db'}")
    with closing(engine.connect()) as connection:
        found = migrations.columns_digest(connection)
    engine.dispose()
    return found


def test_frozen_homes_are_never_made_again():
    now = {path.name.removesuffix(".tar.xz"): path.read_bytes() for path in HOMES.iterdir()}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in now.items()} == RELEASED


def test_a_home_of_a_released_version_is_upgraded_and_opens(ask, home):
    code, said = ask("upgrade", "--json")
    assert (code, json.loads(said)["data"]["to"]) == (0, migrations.NEWEST)
    code, said = ask("leaderboard", "--month", "2026-12", "--json")
    assert code == 0, said
    assert [line["name"] for line in json.loads(said)["data"]] == ["test-able", "test-fair"]
    assert ask("log", "fsck") == (0, "35 leaves, all in order\n")
    code, said = ask("task", "list", "--json")
    assert code == 0, said
    assert json.loads(said)["data"], said


def test_an_upgrade_says_what_it_did_and_can_be_repeated(ask, home, tmp_path, monkeypatch):
    add_migration(tmp_path / "scripts", monkeypatch, MORE)
    code, said = ask("leaderboard")
    assert (code, f"run `quarterturn upgrade --home {home}`" in said) == (8, True), said
    before = (home / "quarterturn.db").read_bytes()
    code, said = ask("upgrade")
    assert code == 0
    assert f"{home} is upgraded from revision 0001 to 0004: 0002_runners, 0003_fair_rounds, 0004_more." in said
    copy = home / "quarterturn.db.0001"
    assert f"A copy of the database as it was: {copy}" in said
    assert (copy.stat().st_mode & 0o777, len(copy.read_bytes())) == (0o600, len(before))
    assert "vault_more" in tables(home)
    monkeypatch.setattr(migrations, "COLUMNS", {**migrations.COLUMNS, "0004": digest(home)})
    assert ask("upgrade") == (0, f"Nothing to do: {home} is at revision 0004, the newest. No copy was made.\n")
    assert ask("leaderboard")[0] == 0
    monkeypatch.undo()
    code, said = ask("leaderboard")
    assert (code, "at revision 0004 and this version knows 0003: use the newer version" in said) == (8, True)


def test_a_home_of_an_unknown_schema_is_refused_in_a_sentence(ask, home):
    with closing(sqlite3.connect(home / "quarterturn.db")) as rows:
        rows.execute("ALTER TABLE rotation_score DROP COLUMN without")
    for verb in ("leaderboard", "upgrade"):
        code, said = ask(verb)
        assert (code, "does not have the tables of its revision, 0001" in said) == (8, True), said
