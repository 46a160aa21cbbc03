"""Tests of which Node is used, and how it gets to where worlds look."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quarterturn.launcher.node import place_node, system_node


def pretend(folder: Path, version: str, program: str) -> dict[str, str]:
    """Put a stub `node` on a path of its own that answers as the real one does."""
    folder.mkdir(exist_ok=True)
    node = folder / "node"
    node.write_text(f"#!/bin/sh\necho {version} {program}\n")
    node.chmod(0o755)
    return {"PATH": str(folder)}


def test_a_system_node_that_is_new_enough_is_found_behind_its_wrapper(tmp_path: Path) -> None:
    assert system_node(pretend(tmp_path, "22.1.0", "/bin/sh")) == Path("/bin/sh")
    assert system_node(pretend(tmp_path, "104.0.0", "/bin/sh")) == Path("/bin/sh")


@pytest.mark.parametrize("version", ["20.20.2", "v22", "9.0", ""])
def test_a_node_that_is_too_old_or_gives_no_version_is_not_taken(tmp_path: Path, version: str) -> None:
    assert system_node(pretend(tmp_path, version, "/bin/sh")) is None


def test_a_machine_without_node_has_none(tmp_path: Path) -> None:
    assert system_node({"PATH": str(tmp_path)}) is None


def test_a_program_of_the_system_is_linked_to_because_worlds_have_usr(tmp_path: Path) -> None:
    true = Path(shutil.which("true") or "").resolve()
    target = tmp_path / "world" / "node" / "bin" / "node"
    place_node(true, target)
    place_node(true, target)  # a second time, over what is there
    assert target.is_symlink()
    assert target.resolve() == true


def test_any_other_program_is_brought_along(tmp_path: Path) -> None:
    program = tmp_path / "elsewhere" / "node"
    program.parent.mkdir()
    shutil.copy2(shutil.which("true") or "", program)
    target = tmp_path / "world" / "node" / "bin" / "node"
    place_node(program, target)
    assert not target.is_symlink()
    shutil.rmtree(program.parent)
    assert subprocess.run([target], check=False).returncode == 0
