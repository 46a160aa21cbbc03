"""Tests of set-up from a folder of packages: made, repeated, interrupted, moved."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pip
import pytest

from quarterturn.launcher.installer import Installer
from quarterturn.launcher.stamps import key
from quarterturn.launcher.steps import Stop

pytestmark = pytest.mark.slow  # each makes a virtual environment and installs into it

BACKEND = """
import base64, hashlib, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    root = __file__.rpartition("/")[0]
    files = {"_house.pth": root + "\\n",
             "house-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: house\\nVersion: 1\\n",
             "house-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    with zipfile.ZipFile(folder + "/house-1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("house-1.dist-info/RECORD", "".join(f"{name},,\\n" for name in files))
    return "house-1-py3-none-any.whl"
build_wheel = None
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "house"
version = "1"
"""


@pytest.fixture
def bare_checkout(tmp_path: Path, wheelhouse: Any) -> Path:
    """Make a checkout whose product is one module, whose tests need one more, and whose agents need paperclips."""
    root = tmp_path / "checkout"
    (root / "requirements").mkdir(parents=True)
    uv = (Path(sys.prefix) / "uv" / "bin" / "uv").read_bytes()
    libc = "manylinux_2_17" if platform.libc_ver()[0] == "glibc" else "musllinux_1_1"
    pinned = wheelhouse.add("uv", "1.0", {"uv-1.0.data/scripts/uv": uv}, f"{libc}_{platform.machine()}")
    product, tests = wheelhouse.add("stapler", "1.0"), wheelhouse.add("hammer", "1.0")
    (root / "requirements" / "installer.txt").write_text(pinned)
    (root / "requirements" / "product.txt").write_text(product)
    (root / "requirements" / "tests.txt").write_text(product + tests)
    (root / "agents.txt").write_text(wheelhouse.add("paperclip", "1.0"))
    (root / "backend.py").write_text(BACKEND)
    (root / "pyproject.toml").write_text(PROJECT)
    return root


@pytest.fixture
def checkout(bare_checkout: Path) -> Path:
    """Return a checkout our own pip and uv, which take Python some seconds to install."""
    venv.create(bare_checkout / ".venv")
    installer = installer_of(bare_checkout)
    (packages,) = installer.venv.glob("lib/python*/site-packages")
    ours = Path(pip.__file__).parent
    shutil.copytree(ours, packages / "pip", copy_function=os.link)
    shutil.copytree(Path(sys.prefix) / "uv", installer.venv / "uv", copy_function=os.link)
    installer.stamps.write("uv", key(bare_checkout / "requirements" / "installer.txt"))
    return bare_checkout


def installer_of(root: Path) -> Installer:
    closed = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(root.parent / "wheelhouse")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "PYTHONPATH": "/misleading", **closed}
    return Installer(root, environ)


def set_up(root: Path, *, tests: bool = False, postgres: bool = False, extras: bool | None = None) -> Installer:
    installer = installer_of(root)
    installer.make()
    installer.product(tests=tests, postgres=postgres, extras=extras)
    installer.environment("agents", root / "agents.txt")
    return installer


def has(python: Path, *modules: str) -> bool:
    program = "".join(f"import {module}\n" for module in modules)
    return subprocess.run([python, "-c", program], cwd="/", capture_output=True, check=False).returncode == 0


def test_a_set_up_says_its_steps_and_the_second_one_says_nothing_and_takes_no_time(
    bare_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = bare_checkout
    installer = set_up(checkout)
    said = capsys.readouterr()
    assert [line.split()[1] for line in said.err.splitlines()] == ["making", "fetching", "installing", "installing"]
    assert said.out == ""
    assert has(installer.python, "stapler", "backend")
    assert has(checkout / ".venv/agents/bin/python", "paperclip")
    assert not has(installer.python, "hammer")
    assert list((checkout / ".venv/agents").rglob("paperclip.*.pyc")), "worlds mount it read-only"

    before = time.monotonic()
    set_up(checkout)
    assert time.monotonic() - before < 2.0
    assert capsys.readouterr().err == ""


def test_test_requirements_stay_when_the_product_is_set_up_again(checkout: Path) -> None:
    installer = set_up(checkout, tests=True)
    (checkout / "pyproject.toml").write_text(PROJECT + 'description = "changed"\n')
    set_up(checkout)
    assert has(installer.python, "stapler", "hammer", "backend")


def test_what_a_service_on_postgresql_needs_stays_until_the_tests_bring_theirs(checkout: Path, wheelhouse: Any) -> None:
    product = (checkout / "requirements" / "product.txt").read_text()
    (checkout / "requirements" / "service.txt").write_text(product + wheelhouse.add("elephant", "1.0"))
    python = set_up(checkout).python
    assert not has(python, "elephant")
    for postgres in (True, False):
        set_up(checkout, postgres=postgres)
        assert has(python, "stapler", "elephant", "backend")
    set_up(checkout, tests=True, postgres=True)
    assert has(python, "stapler", "hammer", "backend"), "the tests' lock has a driver itself"


def test_the_locks_of_the_service_and_of_the_tests_have_what_postgresql_needs() -> None:
    for lock in ("service", "tests"):
        pinned = (Path(__file__).parents[2] / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        assert re.search(r"^psycopg-binary==", pinned, re.MULTILINE), lock


@pytest.mark.full
def test_extras_are_installed_unless_the_core_alone_was_asked_for_last(checkout: Path) -> None:
    extra = checkout / "extras" / "attic"
    extra.mkdir(parents=True)
    for name, text in (("backend.py", BACKEND), ("pyproject.toml", PROJECT), ("shelf.py", "")):
        (extra / name).write_text(text.replace("house", "attic"))
    python = set_up(checkout, extras=False).python
    for extras, tests, there in ((None, False, False), (True, False, True), (False, False, False), (None, True, True)):
        set_up(checkout, tests=tests, extras=extras)
        assert (has(python, "backend"), has(python, "shelf")) == (True, there)


def test_a_lock_that_changed_is_installed_and_what_left_it_is_taken_away(checkout: Path, wheelhouse: Any) -> None:
    installer = set_up(checkout)
    (checkout / "requirements" / "product.txt").write_text(wheelhouse.add("glue", "2.0"))
    set_up(checkout)
    assert has(installer.python, "glue", "backend")
    assert not has(installer.python, "stapler")


def test_an_environment_that_is_half_made_or_was_moved_is_made_again(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installer_of(checkout).make()  # passes over what is there
    moved = checkout.rename(checkout.parent / "elsewhere")
    installer = installer_of(moved)
    installer._venv()
    assert not installer.uv.exists()
    installer.python.unlink()
    installer.python.symlink_to("/nowhere/python3")
    installer._venv()
    assert capsys.readouterr().err.count("making .venv again") == 2
    assert has(installer.python)


@pytest.mark.full
def test_an_environment_that_somebody_else_made_is_installed_on_top_of(checkout: Path) -> None:
    theirs = next((checkout / ".venv").glob("lib/python*/site-packages")) / "theirs-1.0.dist-info"
    theirs.mkdir()
    (theirs / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (theirs / "RECORD").write_text("theirs-1.0.dist-info/METADATA,,\ntheirs-1.0.dist-info/RECORD,,\n")
    assert has(set_up(checkout).python, "stapler")
    assert theirs.exists()


def test_an_interrupted_step_is_done_again(checkout: Path, wheelhouse: Any) -> None:
    lock = checkout / "agents.txt"
    good = lock.read_text()
    lock.write_text(good + "missing==1.0 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(Stop, match=r"installing agents\.txt failed"):
        set_up(checkout)
    lock.write_text(good)
    set_up(checkout)
    assert has(checkout / ".venv/agents/bin/python", "paperclip")


def test_a_wheel_that_is_not_the_locked_one_is_not_installed(checkout: Path, wheelhouse: Any) -> None:
    wheelhouse.add("paperclip", "1.0", {"paperclip.py": b"raise SystemExit('not what was locked')\n"})
    with pytest.raises(Stop, match=r"agents\.txt failed") as stop:
        set_up(checkout)
    assert "ash" in str(stop.value)
    assert not has(checkout / ".venv/agents/bin/python", "paperclip")


@pytest.mark.full
def test_an_index_that_cannot_be_reached_is_told_with_what_to_set(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv" / "uv")
    installer = Installer(checkout, dict(installer_of(checkout).environ) | {"PIP_FIND_LINKS": "/nowhere"})
    with pytest.raises(Stop, match=r"(?s)fetching uv failed.*uv==1\.0.*\nSet PIP_INDEX_URL .*start again") as stop:
        installer.make()
    assert stop.value.code == 6


def test_a_checkout_without_its_locks_is_incomplete(checkout: Path) -> None:
    (checkout / "requirements" / "installer.txt").unlink()
    with pytest.raises(Stop, match=r"installer\.txt is missing: this checkout is incomplete; check it out again"):
        installer_of(checkout).make()
