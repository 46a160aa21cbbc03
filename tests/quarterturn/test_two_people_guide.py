"""The guide for two: every command of it is run, in its order; the one that is to be refused is."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "two-people.md"
PATH = {"PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}

pytestmark = pytest.mark.slow


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == kind]


def said(command: str, folder: Path, code: int = 0) -> str:
    words = shlex.split(command)
    done = subprocess.run(words, cwd=folder, env=os.environ | PATH, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"
    return done.stdout + done.stderr


def test_the_guide_for_two_works_line_by_line(stocked: Path) -> None:
    folder, (table,) = stocked.parent, blocks("toml")
    for name in ("ada", "bob", "cyd"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        table = table.replace(name.upper(), (folder / f"{name}.pub").read_text().strip())
    settings = stocked / "quarterturn.toml"
    assert "[approvals]\nactions = []\n" in settings.read_text()
    settings.write_text(settings.read_text().replace("[approvals]\nactions = []\n", table))

    rules, ask, *rest = blocks("")
    assert "2 of ada, bob, cyd sign for: activate, export, policy, withdraw" in said(rules, folder)
    request = re.findall(r"approval show (a-\w+)", said(ask, folder, code=4))[0]
    commands = [line for text in rest for line in text.replace("REQUEST", request).splitlines()]
    answers = [said(command, folder) for command in commands]
    assert "Begin the turn: turn 2026-11" in answers[0]
    assert "signed by ada, bob" in answers[3]
    assert "The turn of 2026-11 is done" in answers[4]
    assert "the chain holds" in answers[5]
