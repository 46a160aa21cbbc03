"""Runs the guide to witnesses: every command, in its order, in a network where its port is free."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..smuggling import REFUSED, spoken
from .conftest import Say
from .guides import GuideShell, blocks

PAGE = "run-a-witness.md"

pytestmark = [pytest.mark.own_network, pytest.mark.slow]


def test_the_guide_to_witnesses_works_line_by_line(stocked: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = GuideShell(stocked.parent, say, monkeypatch)
    shutil.copy(stocked / "public" / "log.vkey", shell.folder / "log.vkey")
    key, serve, work, audit = (block.strip() for block in blocks(PAGE))
    (policy,), (table,) = blocks(PAGE, "text"), blocks(PAGE, "toml")
    vkey = shell.type(key).strip()
    (stocked / "policy").write_text(policy.replace("VKEY", vkey))
    settings = stocked / "quarterturn.toml"
    assert '[ledger]\npolicy = ""\n' in settings.read_text()
    settings.write_text(settings.read_text().replace('[ledger]\npolicy = ""\n', table))
    turn, checkpoint, proof = work.splitlines()
    with shell.kept(serve, "witnessing at http://127.0.0.1:8703\n"):
        shell.type(turn)
        assert "\u2014 witness.example/one " in shell.type(checkpoint)
        assert "Cosigned by one: order and time are their word too." in shell.type(proof)
        shell.type(f"{turn} --early")  # a month later
        assert REFUSED.fullmatch(spoken("http://127.0.0.1:8703"))
    assert "these witnesses together: one." in shell.type(f"{audit} --accept 1"), "it is turned before its month begins"
    assert len(list((shell.folder / "witnessed").glob("*[0-9a-f]"))) == 1
