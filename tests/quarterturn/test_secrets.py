"""Tests of passphrases: read from the environment first, asked for at a terminal, never in an argument."""

import getpass
import os
import subprocess
import sys

import pytest

from quarterturn.cli.terminal.secrets import PASSPHRASE
from quarterturn.home.home import create
from quarterturn.settings import BenchmarkSettings, Settings

pytestmark = pytest.mark.usefixtures("cheap_derivation")

WORD = "correct horse battery"


@pytest.fixture(scope="module")
def locked(tmp_path_factory, cheap_derivation):
    folder = tmp_path_factory.mktemp("locked") / "home"
    create(folder, Settings(benchmark=BenchmarkSettings(first_month="2026-12")), WORD.encode())
    return folder


VERBS = [
    ["task", "list"],
    ["turn", "run"],
    ["leaderboard"],
    ["access", "log"],
    ["keys", "list"],
    ["release", "path", "2026-12"],
    ["task", "admit", "--as", "ada"],
    ["task", "review", "--as", "ada"],
    ["task", "show", "t-aaaaaaaaaaaaaaaa", "--as", "ada"],
    ["run", "--as", "me", "--set", "private", "--agent", "true"],
]


def test_without_the_passphrase_every_verb_stops_with_seven(locked, say):
    for words in VERBS:
        said = say(*words, "--home", locked, "--json")
        assert said.code == 7, words
        assert f"is locked; give its passphrase. Put it into {PASSPHRASE}." in said.data["error"]


def test_the_status_of_turns_needs_no_key(locked, say):
    assert say("turn", "status", "--home", locked).code == 0


def test_a_wrong_passphrase_is_seven_too(locked, say, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, "incorrect horse")
    said = say("task", "list", "--home", locked).refuses(7, "does not open the key ring")
    assert "horse" not in said.err


def test_a_passphrase_for_a_ring_without_one_is_seven(home, say, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, WORD)
    say("task", "list", "--home", home).refuses(7, "was made without a passphrase")


def test_an_empty_variable_is_none(home, say, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, "")
    assert say("task", "list", "--home", home).code == 0


def test_init_with_nobody_to_ask_makes_nothing(say, tmp_path):
    say("init", "--home", tmp_path / "home", "--passphrase").refuses(2, PASSPHRASE)
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_a_person_is_asked_twice_for_a_new_one_and_once_for_an_old_one(say, tmp_path, monkeypatch):
    answers = iter(["a", "a", "one two", "other one", "one two three", "one two three", "one two three", "wrong"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))
    say("init", "--home", tmp_path / "home", "--passphrase").refuses(2, "at least 8 characters")
    differing = say("init", "--home", tmp_path / "home", "--passphrase")
    assert (differing.code, (tmp_path / "home").exists()) == (2, False)
    assert say("init", "--home", tmp_path / "home", "--passphrase").code == 0
    assert say("task", "list", "--home", tmp_path / "home").code == 0
    assert say("task", "list", "--home", tmp_path / "home").code == 7


@pytest.mark.slow
def test_no_process_that_is_started_inherits_it(locked, say, monkeypatch):
    seen = []

    def look(*_: object, **__: object) -> None:
        script = "import os; print(sorted(os.environ))"
        seen.append(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        raise KeyboardInterrupt

    monkeypatch.setattr("quarterturn.month.turn_status.status", look)
    monkeypatch.setattr("quarterturn.runs.dev_runs.dev", look)
    monkeypatch.setattr("quarterturn.cli.setup.doctor_checks.machine", look)
    for words in (["turn", "status", "--home", locked], ["run", "--as", "me", "--agent", "true"], ["doctor"]):
        monkeypatch.setenv(PASSPHRASE, WORD)
        assert say(*words).code == 130
        assert PASSPHRASE not in os.environ
    assert len(seen) == 3
    assert not any(PASSPHRASE in names for names in seen)


@pytest.mark.needs("root")
def test_the_kernel_shows_it_no_more(tmp_path):
    script = (
        "import os, subprocess; from quarterturn.cli.terminal.secrets import take_secrets; take_secrets();"
        "print(open('/proc/self/environ').read(), dict(os.environ));"
        "subprocess.run(['cat', '/proc/self/environ'])"
    )
    address = f"postgresql://ada:{WORD}@db.example/rows"
    environment = {**os.environ, PASSPHRASE: WORD, "QUARTERTURN_DATABASE": address, "OTHER": "kept"}
    said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert WORD not in said.stdout
    assert said.stdout.count("OTHER") == 3
