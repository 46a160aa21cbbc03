"""Tests of how the launcher reads the arguments of `./run test`, and of what it installs and starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher import engine, local_model, verbs
from quarterturn.launcher import images, machine, node
from quarterturn.launcher.installer import Installer
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

    def prepare(**options: bool) -> Installer:
        (tmp_path / "prepared").write_text(" ".join(sorted(options)))
        return Installer(tmp_path, {})

    monkeypatch.setattr(verbs, "ROOT", tmp_path)
    monkeypatch.setattr(verbs, "prepare", prepare)
    monkeypatch.setattr(verbs.announcement, "announce", lambda *_, **__: None)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def lacking_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        message = "no age here"
        raise Stop(message)

    monkeypatch.setattr(machine, "need_all", stop)
    monkeypatch.setattr(engine, "answers", lambda: False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")


def test_without_root_and_engine_the_tests_run_and_their_status_is_passed_on(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking_everything(monkeypatch)
    assert verbs.test(["--all", "-x"]) == 6
    assert (checkout / "called").read_text().endswith(" --all -x\n")
    said = capsys.readouterr().err
    assert "no age here; tests that need them are not run" in said
    assert "no Docker engine answers" in said


def test_the_small_size_installs_what_the_demo_needs_and_starts_no_engine(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed: list[object] = []
    monkeypatch.setattr(machine, "need_all", lambda programs, _: needed.append(programs))
    monkeypatch.setattr(engine, "provide", lambda: pytest.fail("an engine is started"))
    monkeypatch.setattr(images, "build", lambda *_: pytest.fail("images are built"))
    assert verbs.test(["-x"]) == 6
    assert needed == [machine.FOR_THE_DEMO]
    assert "references" not in (checkout / "prepared").read_text()


def test_on_ci_whatever_is_missing_is_an_error(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking_everything(monkeypatch)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Stop, match="no age here"):
        verbs.test([])
    monkeypatch.setattr(machine, "need_all", lambda *_: None)
    with pytest.raises(Stop, match="no Docker engine answers"):
        verbs.test([])
    assert not (checkout / "called").exists()


@pytest.mark.parametrize(("words", "environ"), [(["--all"], {}), (["--exhaustive"], {}), ([], {"CI": "true"})])
def test_images_are_built_before_the_tests_that_need_them(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], environ: dict[str, str]
) -> None:
    monkeypatch.setattr(machine, "need_all", lambda *_: None)
    monkeypatch.setattr(engine, "answers", lambda: True)
    monkeypatch.setattr(Installer, "environment", lambda *_: None)
    monkeypatch.setattr(Installer, "files", lambda *_: None)
    monkeypatch.setattr(node, "install_project", lambda *_: None)
    monkeypatch.setattr(local_model, "install", lambda _: None)
    monkeypatch.setattr(
        images, "build", lambda *_: (checkout / "built").write_text(str((checkout / "called").exists()))
    )
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert verbs.test(words) == 6
    assert (checkout / "built").read_text() == "False"
    assert (checkout / "called").exists()


def test_checks_run_side_by_side_and_one_that_fails_is_told_with_its_words(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = {"pytest": "exit 0", "ruff": "exit 0", "mypy": "echo vault/x.py:1: error; exit 1", "python": "echo $2"}
    for name, script in scripts.items():
        (checkout / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (checkout / ".venv" / "bin" / name).chmod(0o755)
    (checkout / "requirements").mkdir()
    (checkout / "requirements" / "tests.txt").write_text("mypy==1\n")
    (checkout / "pyproject.toml").write_text("")
    assert verbs.check([]) == 1
    said = capsys.readouterr().err
    assert "types failed:\nvault/x.py:1: error\n" in said
    assert said.endswith("note: tests.notes\n· check: types failed\n")


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
