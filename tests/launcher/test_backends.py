"""Tests of the programs that worlds with databases need: reported where missing, and a template made once."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher import backends
from quarterturn.launcher import machine
from quarterturn.launcher.stamps import Stamps

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Checkout:
    """The part of an installer that the template needs."""

    root: Path
    venv: Path
    python: Path = Path(sys.executable)

    @property
    def stamps(self) -> Stamps:
        return Stamps(self.venv / "stamps")

    @property
    def template(self) -> Path:
        return self.venv / "world" / "postgres" / "template.tar"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for folder in (backends.MAKER, backends.SHARED):
        shutil.copytree(ROOT / folder, tmp_path / "checkout" / folder)
    return Checkout(tmp_path / "checkout", tmp_path / "venv")


@pytest.mark.box
@pytest.mark.needs("databases")
def test_the_template_is_made_once_and_again_when_its_recipe_changes(
    checkout: Checkout, capfd: pytest.CaptureFixture[str]
) -> None:
    backends.install(checkout, needed=False)
    made = checkout.template.stat()
    assert 5_000_000 < made.st_size < 20_000_000
    assert made.st_mode & 0o777 == 0o644, "worlds read it as another user"
    backends.install(checkout, needed=False)
    assert checkout.template.stat().st_mtime_ns == made.st_mtime_ns
    with (checkout.root / backends.MAKER / "template.sql").open("a") as recipe:
        recipe.write("-- changed\n")
    backends.install(checkout, needed=False)
    assert checkout.template.stat().st_mtime_ns != made.st_mtime_ns
    assert capfd.readouterr().err.count("making world/postgres/template.tar") == 2


def test_a_missing_postgresql_is_reported_and_nothing_fails(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "POSTGRES", str(tmp_path))
    monkeypatch.setattr(machine, "SBIN", ())
    backends.install(checkout, needed=True)
    needed = "dovecot-imapd and postgresql and redis-tools"
    assert f"no tasks with databases or mail: they need Debian's {needed}" in capfd.readouterr().err
    assert not checkout.template.exists()
