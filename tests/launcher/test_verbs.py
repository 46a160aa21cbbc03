"""Tests of how the launcher reads the arguments of `./run test`, and of what runs beside the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from quarterturn.launcher import images, machine, verbs
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.pip_settings import PipSettings
from quarterturn.launcher.steps import Stop


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["vault"], ["tests/vault"]),
        (["vault", "sandbox", "-x"], ["tests/vault", "tests/sandbox", "-x"]),
        (["tests/vault/test_database.py::test_x"], ["tests/vault/test_database.py::test_x"]),
        (["-k", "ledger"], ["-k", "ledger"]),
        (["--changed"], ["--changed="]),
        (["--changed", "HEAD~2", "vault"], ["--changed=HEAD~2", "tests/vault"]),
        (["--changed", "vault"], ["--changed=", "tests/vault"]),
        (["--changed", "--exhaustive"], ["--changed=", "--exhaustive"]),
    ],
)
def test_rooms_and_changes_become_pytests_words(words: list[str], given: list[str]) -> None:
    assert verbs.for_pytest(words) == given


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout that is set up, whose pytest prints its arguments and exits with status 6."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "pytest").write_text('#!/bin/sh\necho "$*" >called\nexit 6\n')
    (programs / "pytest").chmod(0o755)
    (tmp_path / "run").write_text("raise SystemExit(0)\n")
    monkeypatch.setattr(verbs, "ROOT", tmp_path)
    monkeypatch.setattr(verbs, "prepare", lambda **_: Installer(tmp_path, {}, PipSettings()))
    monkeypatch.setattr(verbs.announcement, "announce", lambda *_, **__: None)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def lacking_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        message = "no age here"
        raise Stop(message)

    monkeypatch.setattr(machine, "need_all", stop)
    monkeypatch.setattr(machine, "engine_answers", lambda: False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")


def test_without_root_and_engine_the_tests_run_and_their_status_is_passed_on(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking_everything(monkeypatch)
    assert verbs.test(["-x"]) == 6
    assert (checkout / "called").read_text().endswith(" -x\n")
    said = capsys.readouterr().err
    assert "no age here; tests that need them are not run" in said
    assert "no Docker engine answers" in said


def test_on_ci_whatever_is_missing_is_an_error(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking_everything(monkeypatch)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Stop, match="no age here"):
        verbs.test([])
    monkeypatch.setattr(machine, "need_all", lambda *_: None)
    with pytest.raises(Stop, match="no Docker engine answers"):
        verbs.test([])
    assert not (checkout / "called").exists()


@pytest.fixture
def building(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give such a checkout where an image is missing, with a stub build."""
    monkeypatch.setattr(machine, "need_all", lambda *_: None)
    monkeypatch.setattr(machine, "engine_answers", lambda: True)
    monkeypatch.setattr(images, "lacking", lambda: ["quarterturn-world"])
    return checkout / "run"


def test_images_are_built_while_the_tests_run(building: Path, checkout: Path) -> None:
    building.write_text("import pathlib, sys\npathlib.Path('%s').write_text(sys.argv[1])\n" % (checkout / "built"))
    (checkout / ".venv/bin/pytest").write_text("#!/bin/sh\nuntil [ -s built ]; do sleep .01; done\n")
    assert verbs.test([]) == 0
    assert (checkout / "built").read_text() == "images"


def test_a_build_that_nobody_waits_for_is_ended_with_the_tests(
    building: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    building.write_text("import signal\nopen('%s', 'w').write('x')\nsignal.pause()\n" % (checkout / "begun"))
    (checkout / ".venv/bin/pytest").write_text("#!/bin/sh\nuntil [ -s begun ]; do sleep .01; done\n")
    assert verbs.test([]) == 0
    assert "stopping the build of images" in capsys.readouterr().err


def test_a_build_that_fails_is_told_at_the_end(
    building: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    building.write_text("open('%s', 'w').write('x')\nraise SystemExit('no such mirror')\n" % (checkout / "begun"))
    (checkout / ".venv/bin/pytest").write_text("#!/bin/sh\nuntil [ -s begun ]; do sleep .01; done\nexit 1\n")
    assert verbs.test([]) == 1
    assert "building images failed; the last words were:\nno such mirror" in capsys.readouterr().err


def test_checks_run_side_by_side_and_one_that_fails_is_told_with_its_words(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, script in {"pytest": "exit 0", "ruff": "exit 0", "mypy": "echo vault/x.py:1: error; exit 1"}.items():
        (checkout / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (checkout / ".venv" / "bin" / name).chmod(0o755)
    (checkout / "requirements").mkdir()
    (checkout / "requirements" / "tests.txt").write_text("mypy==1\n")
    (checkout / "pyproject.toml").write_text("")
    assert verbs.check([]) == 1
    said = capsys.readouterr().err
    assert "types failed:\nvault/x.py:1: error\n" in said
    assert said.endswith("check: types failed\n")


def test_mypys_cache_is_another_one_after_the_lock_has_changed(checkout: Path) -> None:
    (checkout / "requirements").mkdir()
    lock = checkout / "requirements" / "tests.txt"
    lock.write_text("mypy==1\n")
    (checkout / "pyproject.toml").write_text("")
    first = verbs.types_cache()
    first.mkdir(parents=True)
    assert verbs.types_cache() == first
    lock.write_text("mypy==2\n")
    assert verbs.types_cache() != first
    assert not first.exists()
