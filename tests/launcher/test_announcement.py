"""Tests of what `./run test` announces before it installs anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher import announcement
from quarterturn.launcher import machine
from quarterturn.launcher.stamps import Stamps

APT = """
3 upgraded, 142 newly installed, 0 to remove and 9 not upgraded.
Need to get 210 MB/214 MB of archives.
After this operation, 871 MB of additional disk space will be used.
Do you want to continue? [Y/n] N
Abort.
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole path of a bare Debian, with a stub of its apt."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(machine, "SBIN", ())
    monkeypatch.setattr(machine, "POSTGRES", str(tmp_path))
    monkeypatch.setattr(machine, "refresh", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (folder / "apt-get").write_text(f"#!/bin/sh\n[ $LC_ALL = C ] && echo '{APT}'\nexit 1\n")
    (folder / "apt-get").chmod(0o755)
    return tmp_path


def said(bare: Path, capsys: pytest.CaptureFixture[str], *, images: bool = True) -> list[str]:
    announcement.announce(Stamps(bare / "stamps"), machine.ALL_FOR_THE_TESTS, images=images)
    return capsys.readouterr().err.splitlines()


def test_a_bare_machine_is_told_what_is_installed_and_how_much(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packages, environments, images = said(bare, capsys)
    assert packages.startswith("· to install: Debian's age, bubblewrap, chromium")
    assert packages.endswith(": 142 packages with those that they need, 210 MB to fetch, 871 MB on the disk")
    assert "in .venv: some 350 MB to fetch" in environments
    assert "container images, before the tests: some 300 MB" in images


def test_a_machine_that_has_everything_is_told_nothing(
    bare: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "missing", lambda _: [])
    Stamps(bare / "stamps").write("kind", "tests")
    assert said(bare, capsys, images=False) == []


def test_an_ordinary_user_is_told_what_root_would_install(
    bare: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    lacking, environments = said(bare, capsys)
    assert lacking.startswith("· not installed: Debian's age, bubblewrap")
    assert "As root: apt-get install age bubblewrap" in lacking
    assert ".venv" in environments


def test_silence_of_apt_is_reported(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bare / "bin" / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    assert said(bare, capsys)[0].endswith("apt does not say how much")
