"""Tests of making a home: whole or resumable, never over something else, closed to others."""

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn import migrations
from quarterturn.app import Application
from quarterturn.errors import Refused
from quarterturn.home.home import create
from quarterturn.home.paths import HomePaths
from quarterturn.settings import BenchmarkSettings, DatabaseSettings, Settings
from rotation.month.sets import MCPBENCH
from sandbox.boxes.box import ResourceLimits
from sandbox.servers.registry import SERVERS
from vault.errors import Locked
from verifiers.tree import DIRECTORY, FileTree

from ...patience import PATIENCE
from ...sandbox.memory_box import MemoryBox

pytestmark = pytest.mark.slow

CHOSEN = Settings(benchmark=BenchmarkSettings(first_month="2026-12"))


def usable(folder: Path, passphrase: bytes | None = None) -> bool:
    with closing(Application(folder, passphrase)) as house:
        return house.log.ledger.size == 0 and house.home.vault.records() == [] and house.home.settings == CHOSEN


def test_a_home_is_made_and_open_to_nobody_else(tmp_path):
    folder = tmp_path / "deep" / "home"
    before = os.umask(0)
    try:
        create(folder, CHOSEN, None)
    finally:
        os.umask(before)
    assert usable(folder)
    modes = {path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    private = ["keys", "head", "keys/ring.json", "keys/log.key", "quarterturn.db", "quarterturn.toml"]
    assert all(not modes[name] & 0o077 for name in private)
    assert folder.joinpath("public/log.vkey").read_text().startswith("quarterturn.example/log+")


def test_what_was_begun_with_one_passphrase_is_not_resumed_with_another(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "upgrade", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            create(tmp_path / "home", CHOSEN, b"one")
    with pytest.raises(Locked):
        create(tmp_path / "home", CHOSEN, b"two")


def test_a_home_is_never_made_over_something_else(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(Refused, match=r"holds other things already \(thesis\.txt\)"):
        create(tmp_path, CHOSEN, None)
    with pytest.raises(Refused, match="is not a folder"):
        create(tmp_path / "thesis.txt", CHOSEN, None)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_places_know_where_the_database_is(tmp_path):
    places = HomePaths(tmp_path)
    at = {
        "sqlite:///quarterturn.db": f"sqlite:///{tmp_path}/quarterturn.db",
        "sqlite:////srv/rows.db": "sqlite:////srv/rows.db",
        "postgresql://db/rows": "postgresql://db/rows",
    }
    for url, found in at.items():
        chosen = Settings(benchmark=CHOSEN.benchmark, database=DatabaseSettings(url=url))
        assert places.database_url(chosen) == found


def test_a_password_comes_from_a_file_and_an_address_from_outside_wins(tmp_path):
    (tmp_path / "word").write_text("p@ss\n")
    (tmp_path / "word").chmod(0o600)
    chosen = Settings(
        benchmark=CHOSEN.benchmark, database=DatabaseSettings(url="postgresql://ada@db/rows", password_file="word")
    )
    places = HomePaths(tmp_path)
    assert places.database_url(chosen) == "postgresql://ada:p%40ss@db/rows"
    assert places.database_url(chosen, "postgresql://bob@db/rows") == "postgresql://bob:p%40ss@db/rows"
    assert places.database_url(chosen, "postgresql://bob:own@db/rows") == "postgresql://bob:own@db/rows"
    assert "db/rows" not in repr(chosen)
    (tmp_path / "word").chmod(0o644)
    with pytest.raises(Locked, match=r"password of the database at .* is open to others"):
        places.database_url(chosen)


def test_a_database_that_holds_another_homes_rows_is_refused(say, stocked, tmp_path, monkeypatch):
    monkeypatch.setenv("QUARTERTURN_DATABASE", f"sqlite:///{stocked}/quarterturn.db")
    say("init", "--home", tmp_path / "other").refuses(8, "holds the rows of another home")
    assert not (tmp_path / "other" / "quarterturn.toml").exists()


def test_a_home_is_made_in_the_database_that_is_named_from_outside(say, tmp_path, monkeypatch):
    home, rows = tmp_path / "home", tmp_path / "rows.db"
    for words in (["init"], ["task", "list"]):
        monkeypatch.setenv("QUARTERTURN_DATABASE", f"sqlite:///{rows}")
        assert say(*words, "--home", home).code == 0
        assert rows.exists()
        assert not (home / "quarterturn.db").exists()


def test_init_makes_a_home_for_the_whole_benchmark(say, tmp_path, monkeypatch, opened):
    monkeypatch.setattr("grammars.language.load.library", lambda: MCPBENCH.servers)
    said = say("init", "--home", tmp_path / "home", "--set", "mcpbench", "--json")
    assert (said.code, said.data["set"]) == (0, "mcpbench")
    house = opened(tmp_path / "home")
    assert house.benchmark.spec == MCPBENCH
    assert sum(house.tasks.replenishment.wanted().values()) == 200 + 50, "the first cohorts and the reserve"


def test_a_home_is_not_made_twice(say, home):
    assert say("init", "--home", home).code == 8


def test_a_foreign_package_on_the_path_is_named(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "__init__.py").write_text("")
    program = Path(sys.executable).parent / "quarterturn"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run([program, "leaderboard"], capture_output=True, text=True, env=environment, check=False)
    assert said.returncode == 6
    assert f"not ours: vault ({tmp_path}/vault/__init__.py)" in said.stderr
    assert "Traceback" not in said.stderr


def test_draws_share_the_worlds_of_their_proofs_until_the_home_is_closed(home):
    box = MemoryBox({})
    with closing(Application(home, None)) as house:
        world = house.tasks.kept_worlds(box).world(
            [SERVERS["filesystem"]], FileTree({"files": DIRECTORY}), ResourceLimits()
        )
        world.freeze(PATIENCE)
        world.close()
        assert house.tasks.kept_worlds(box) is house.tasks.kept_worlds(box)
        assert box.worlds[0].facts().running
    assert not box.worlds[0].facts().running
