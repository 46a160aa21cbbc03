"""Runs the guide to the service: every command, in its order, from an empty folder."""

from __future__ import annotations

import re

import pytest

from quarterturn.app import Application
from quarterturn.cli.terminal.secrets import PASSPHRASE

from .guides import GuideShell, blocks

PHRASE = "test-phrase"
EXAMPLE = "postgresql://quarterturn@db.example/quarterturn"

pytestmark = [pytest.mark.box, pytest.mark.slow]


def test_the_guide_to_the_service_works_line_by_line(tmp_path, say, monkeypatch, stock, postgres):
    begin, serve, tokens, backup, restore, moved, classes = blocks("run-the-service.md")
    shell = GuideShell(tmp_path, say, monkeypatch, {PASSPHRASE: PHRASE})
    for command in begin.splitlines():
        said = shell.type(command)
    assert re.search(r"clock +the first set is due: .*. Too few reviewed tasks", said)
    house = Application(tmp_path / "home", PHRASE.encode())
    stock(house, 4)
    house.close()
    with shell.kept(serve, "serving", " is done: "):
        token, _, listed = (shell.type(command) for command in tokens.splitlines())
        assert re.search(r"^qt_\w{36}$", token, re.MULTILINE)
        assert "mara  maintainer: " in listed
        shell.type(backup.strip())
    for command in restore.splitlines():
        shell.type(command)
    assert "24 tasks are live" not in shell.type("quarterturn doctor --home again")
    with postgres.empty() as url:
        put, work = (command.replace(EXAMPLE, url) for command in moved.splitlines())
        assert "is as it was on" in shell.type(put)
        assert not (tmp_path / "moved" / "quarterturn.db").exists()
        for command in (work, *(one.replace(EXAMPLE, url) for one in classes.splitlines())):
            with shell.kept(command, "working on"):
                pass
