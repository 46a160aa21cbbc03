"""Plays the guide to comparing servers: two file servers and a shell, on the tasks of the example, three times."""

import json
from pathlib import Path

import pytest

from .test_docs import ROOT, commands, play, workspace

GUIDE = ROOT / "examples" / "comparison" / "README.md"

__all__ = ["workspace"]
pytestmark = [pytest.mark.box, pytest.mark.slow, pytest.mark.exhaustive]


def test_the_guide_to_comparing_servers_works_line_by_line(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for line in commands(GUIDE):
        play(line, capfd)
    data = json.loads((workspace / "report.json").read_text())
    servers = {server["server"]: server for server in data["servers"]}
    assert list(servers) == ["filesystem", "agent_infra", "shell"]
    figures = {name: server["figures"] for name, server in servers.items()}
    assert {name: (of["quality"]["value"], of["quality"]["n"]) for name, of in figures.items()} == dict.fromkeys(
        servers, (1, 24)
    )
    assert {name: (of["grounding"]["value"], of["grounding"]["n"]) for name, of in figures.items()} == dict.fromkeys(
        servers, (1, 6)
    )
    assert figures["shell"]["calls"]["value"] < figures["filesystem"]["calls"]["value"], "one command finds a line"
    assert figures["shell"]["bytes_shown"]["value"] < figures["agent_infra"]["bytes_shown"]["value"]
    assert (workspace / "report.html").is_file()
