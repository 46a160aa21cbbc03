"""Tests of the file `run` itself, started as a user starts it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "run"

# What a Python that is too old does with the file, as far as one that is new enough can play it.
OLD = f"""
import runpy, sys
sys.version_info = (3, 9, 2)
sys.argv = [{str(RUN)!r}, *sys.argv[1:]]
runpy.run_path({str(RUN)!r}, run_name="__main__")
"""


def start(*arguments: str, path: str = os.environ["PATH"], cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": path, "HOME": str(cwd)}
    return subprocess.run(arguments, env=environ, cwd=cwd, capture_output=True, text=True, check=False)


def test_it_is_executable_and_any_python_3_can_read_it() -> None:
    assert os.access(RUN, os.X_OK)
    ast.parse(RUN.read_text(encoding="utf-8"), feature_version=(3, 4))


def test_help_lists_the_verbs_from_anywhere(tmp_path: Path) -> None:
    done = start(sys.executable, str(RUN), "help", cwd=tmp_path)
    assert done.returncode == 0
    assert all(
        f"  {verb} " in done.stdout for verb in ("setup", "demo", "test", "check", "bench", "images", "lock", "help")
    )


def test_an_unknown_verb_is_a_usage_error() -> None:
    done = start(sys.executable, str(RUN), "dance")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "run: there is no verb 'dance'; ./run help lists them\n"


def test_an_argument_too_many_is_a_usage_error_before_anything_is_done() -> None:
    for words in ("--fast", "--with", "--with mysql", "postgres"):
        done = start(sys.executable, str(RUN), "setup", *words.split())
        assert done.returncode == 2
        known = "--core and --with postgres"
        assert done.stderr == f"run: ./run setup takes nothing but {known}, but was given {words!r}\n"


def test_a_python_that_is_too_old_says_what_is_missing(tmp_path: Path) -> None:
    done = start(sys.executable, "-c", OLD, "help", path=str(tmp_path))
    assert done.returncode == 6
    assert "needs Python 3.11 or newer" in done.stderr
    assert "was started with Python 3.9" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_python_that_is_too_old_starts_a_newer_one_and_passes_over_names_that_lead_nowhere(tmp_path: Path) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\necho 'no such version' >&2\nexit 127\n")
    shim.chmod(0o755)
    (tmp_path / "python3.11").symlink_to(sys.executable)
    done = start(sys.executable, "-c", OLD, "help", path=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ./run VERB")


def test_ci_calls_the_tests_and_nothing_cleverer() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "exec ./run test"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize(
    "arguments", [("lock", "--upgrade", "--now"), ("lock", "now"), ("local-model", "x"), ("local-model", "70000")]
)
def test_other_arguments_than_the_one_that_a_verb_takes_are_refused(arguments: tuple[str, ...]) -> None:
    assert start(sys.executable, str(RUN), *arguments).returncode == 2
