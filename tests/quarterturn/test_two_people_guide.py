"""Runs the guide for two maintainers: every command, in its order; the one that must be refused is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..ssh_keys import make_ssh_key
from .conftest import Say
from .guides import GuideShell, blocks

PAGE = "two-people.md"

pytestmark = [pytest.mark.slow, pytest.mark.needs("ssh-keygen")]


def test_the_guide_for_two_works_line_by_line(stocked: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    shell, (table,) = GuideShell(stocked.parent, say, monkeypatch), blocks(PAGE, "toml")
    for name in ("ada", "bob", "cyd"):
        make_ssh_key(shell.folder / name)
        table = table.replace(name.upper(), (shell.folder / f"{name}.pub").read_text().strip())
    settings = stocked / "quarterturn.toml"
    assert "[approvals]\nactions = []\n" in settings.read_text()
    settings.write_text(settings.read_text().replace("[approvals]\nactions = []\n", table))

    rules, ask, *rest = blocks(PAGE)
    assert "2 of ada, bob, cyd sign for: activate, export, policy, withdraw" in shell.type(rules.strip())
    request = re.findall(r"approval show (a-\w+)", shell.type(ask.strip(), code=4))[0]
    commands = [line for text in rest for line in text.replace("REQUEST", request).splitlines()]
    answers = [shell.type(command) for command in commands]
    assert "Begin the turn: turn 2026-11" in answers[0]
    assert "signed by ada, bob" in answers[3]
    assert "The turn of 2026-11 is done" in answers[4]
    assert "the chain holds" in answers[5]
