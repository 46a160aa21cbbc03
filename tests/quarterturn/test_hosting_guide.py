"""Runs the hosting guide: every command, in its order, in a network where its ports are free."""

from __future__ import annotations

import re

import pytest

from ..patience import until
from .guides import GuideShell, commands, heard_at

pytestmark = [pytest.mark.own_network, pytest.mark.box, pytest.mark.slow]


def test_the_guide_to_hosting_works_line_by_line(few, tmp_path, say, monkeypatch):
    shell = GuideShell(tmp_path, say, monkeypatch)
    init, serve, play = commands("host-an-endpoint.md")
    shell.type(init)
    with shell.kept(serve):
        until(lambda: heard_at(9000), "the endpoint listens")
        said = shell.type(play)
    passed = re.search(r"(\d+) of 2 passed", said)
    assert passed, said[-1000:]
    assert int(passed[1]) > 0  # the hosted agent called real tools
    assert "the dev set: 2 of 2" in said
