"""Tests of mistakes that people made: each is answered by the fault, the place and a next step that leads on."""

from __future__ import annotations

import sqlite3

import pytest

from quarterturn.boxes import BOXES
from quarterturn.cli.setup import doctor_checks
from sandbox.errors import NotFound, Unavailable


def test_a_home_that_can_never_be_made_asks_for_another_folder(say, tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "home", "/proc/home"):
        said = say("init", "--home", place, "--month", "2026-12")
        assert said.code == 6
        assert "name another folder with --home" in said.sentence


def test_a_leaderboard_of_a_month_that_never_was_is_not_an_empty_one(say, live):
    said = say("leaderboard", "--home", live, "--month", "2020-01")
    assert said.code == 3
    assert "no set was live in 2020-01: this home has had sets in 2026-12" in said.sentence
    assert say("leaderboard", "--home", live, "--month", "2026-12").code == 0


def test_a_missing_key_ring_is_put_back(say, home):
    (home / "keys" / "ring.json").rename(home / "keys" / "elsewhere")
    said = say("turn", "plan", "--home", home)
    assert said.code == 7
    assert said.sentence.endswith("ring.json: put it back from a backup.")


def test_a_database_without_tables_is_not_filled_anew(say, home):
    for left in home.glob("quarterturn.db*"):
        left.unlink()
    (home / "quarterturn.db").touch()
    said = say("task", "list", "--home", home)
    assert said.code == 3
    assert "has no table of ours" in said.sentence
    with sqlite3.connect(home / "quarterturn.db") as database:
        assert database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("[run]\nworkers = 'two'", "'run.workers' is wrong: it must be a whole number, without quotes"),
        ("[run]\nwall_seconds = 'long'", "'run.wall_seconds' is wrong: it must be a number, without quotes"),
        ("[database]\nurl = 3", "'database.url' is wrong: it must be a text in quotes"),
        ("run = 3", "'run' is wrong: it must be a table"),
    ],
)
def test_a_value_of_a_wrong_kind_is_told_what_it_must_be(say, home, setting, sentence):
    (home / "quarterturn.toml").write_text(f'{setting}\n[benchmark]\nfirst_month = "2026-12"\n')
    said = say("task", "list", "--home", home)
    assert said.code == 2
    assert sentence in said.sentence


def test_the_lock_of_a_ring_without_a_passphrase_says_who_opens_it(say, home):
    assert (
        "file-mode  to open it, be the user who may read its file: it has no passphrase"
        in say("keys", "list", "--home", home).out
    )


def test_an_engine_without_images_is_told_to_build_them(monkeypatch):
    class Box:
        def check(self):
            raise Unavailable("the engine has no image x") from NotFound("x")

    monkeypatch.setitem(BOXES, "docker", Box)
    assert doctor_checks._box("docker", "nothing is official", "start an engine").mend == "./run images"
