"""Tests of the two sizes: what the small one leaves out, and what is asked for by its name."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Protocol

import pytest

from . import needs, sizes

STORY = """
import pytest

def test_in_memory(): pass

@pytest.mark.box
def test_in_a_box(): pass

@pytest.mark.full
def test_long(): pass

@pytest.mark.needs("age")
def test_with_age(): pass

@pytest.mark.engine
@pytest.mark.full
def test_with_an_engine(): pass
"""
OPTIONS = (
    "--import-mode=importlib",
    "-p no:cacheprovider",
    "-p no:unraisableexception",  # it collects garbage five times as a run ends, here that of the run around it too
)
ROOMS = ("vault", "sandbox", "journeys")  # the last is one that only all of it plays


class Machinery:
    """The plugins under test, in a run of pytest inside this process."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        parser.addoption("--exhaustive", action="store_true")
        sizes.add_options(parser)

    def pytest_configure(self, config: pytest.Config) -> None:
        for mark in ("box", "engine", "full", "needs"):
            config.addinivalue_line("markers", mark)
        sizes.begin(config)
        config.pluginmanager.register(needs.NotRun(config), "needs")


class Play(Protocol):
    def __call__(self, *words: str, lacking: str = "") -> tuple[int, int, str]: ...


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Play:
    """Play a small suite; return the status, how many tests ran, and what was printed."""
    folder = tmp_path / "tests"
    for name in ROOMS:
        (folder / name).mkdir(parents=True)
        (folder / name / "test_story.py").write_text(STORY)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(OPTIONS)}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sizes, "TESTS", folder)
    monkeypatch.delenv("CI", raising=False)

    def run(*words: str, lacking: str = "") -> tuple[int, int, str]:
        monkeypatch.setattr(needs, "missing", lambda name: name in lacking.split())
        for name in ROOMS:  # pytest takes a module of this name as imported, also where its file is another one
            sys.modules.pop(f"tests.{name}.test_story", None)
        status = pytest.main(["-q", *words], plugins=[Machinery()])
        said = capsys.readouterr().out
        passed = re.search(r"(\d+) passed", said)
        return status, int(passed[1]) if passed else 0, said

    return run


def test_the_small_size_counts_what_it_leaves_out_and_ends_well(play: Play) -> None:
    status, played, said = play("tests")
    assert (status, played) == (0, 4)
    assert "11 tests of journeys (5), costly cases (2), other programs (2), engine (2): ./run test --all\n" in said
    assert play("tests", lacking="age engine")[:2] == (0, 4), "what is left out is not looked for"


@pytest.mark.parametrize(("words", "ci"), [(["--all"], ""), (["--exhaustive"], ""), ([], "true")])
def test_all_plays_everything(play: Play, words: list[str], ci: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", ci)
    status, played, said = play("tests", *words)
    assert (status, played, "--all\n" in said) == (0, 15, False)


@pytest.mark.parametrize(
    ("named", "played"),
    [
        (["tests/vault"], 2),
        (["tests/vault/test_story.py"], 5),
        (["tests/vault/test_story.py::test_long"], 1),
        (["tests/vault/test_story.py::test_long", "tests/sandbox"], 3),
        (["tests/journeys"], 5),
        (["tests/vault/test_story.py", "--small"], 2),
    ],
)
def test_a_file_or_a_test_that_is_named_is_asked_for(play: Play, named: list[str], played: int) -> None:
    assert play(*named)[:2] == (0, played)


def test_what_is_asked_for_and_cannot_run_is_counted_and_ends_with_6(play: Play) -> None:
    status, played, said = play("tests", lacking="bwrap")
    assert (status, played, "2 tests not run: no bwrap here. To run them: apt-get install bubblewrap" in said) == (
        6,
        2,
        True,
    )
    status, played, said = play("tests", "--all", lacking="age")
    assert (status, played, "3 tests not run: no age here" in said) == (6, 12, True)
    status, played, said = play("tests/vault/test_story.py", lacking="age")
    assert (status, played) == (6, 4)


def test_a_need_that_nobody_knows_is_a_usage_error(play: Play, tmp_path: Path) -> None:
    (tmp_path / "tests" / "vault" / "test_story.py").write_text(STORY.replace("age", "ague"))
    assert play("tests")[0] == pytest.ExitCode.USAGE_ERROR


def test_both_sizes_at_once_are_a_usage_error(play: Play) -> None:
    assert play("tests", "--small", "--all")[0] == pytest.ExitCode.USAGE_ERROR
