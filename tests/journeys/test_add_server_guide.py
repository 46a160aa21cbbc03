"""Plays the guide to adding a server, line by line: two servers are installed from the registries."""

import json
from pathlib import Path

import pytest

from .test_docs import ROOT, commands, play, workspace

GUIDE = ROOT / "docs" / "how-to" / "add-a-server.md"

__all__ = ["workspace"]
pytestmark = [pytest.mark.box, pytest.mark.slow, pytest.mark.exhaustive]


def test_the_guide_to_adding_a_server_works_line_by_line(
    workspace: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    said = {line: play(line, capfd) for line in commands(GUIDE)}
    (admitted,) = (out for line, out in said.items() if " task admit " in line)
    assert "12 admitted" in admitted
    (score,) = json.loads(play("quarterturn leaderboard --home home --json", capfd))["data"]
    assert score["sealed"]["success_rate"]["value"] == 0.0, "the null agent"
