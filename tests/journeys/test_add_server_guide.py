"""Plays the guide to adding a server, line by line: three servers are installed from the registries."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn.app import Application

from .test_docs import ROOT, commands, play, workspace

GUIDE = ROOT / "docs" / "how-to" / "add-a-server.md"
KNOWING = Path(__file__).with_name("knowing_agent.py")

__all__ = ["workspace"]
pytestmark = [pytest.mark.box, pytest.mark.slow, pytest.mark.exhaustive]


def test_the_guide_to_adding_a_server_works_line_by_line(
    workspace: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    said = {line: play(line, capfd) for line in commands(GUIDE)}
    (admitted,) = (out for line, out in said.items() if " task admit " in line)
    assert "18 admitted" in admitted
    folder = knowing_agent(workspace)
    agent = f"--agent 'python3 {folder / KNOWING.name}'"
    play(f"quarterturn run --home home --as knower --set private --box bwrap {agent}", capfd)
    scores = json.loads(play("quarterturn leaderboard --home home --json", capfd))["data"]
    rates = {score["submitter"]: score["sealed"]["success_rate"]["value"] for score in scores}
    assert rates == {"honest": 0.0, "knower": 1.0}, "one agent does nothing, one makes the calls of the solutions"


def knowing_agent(workspace: Path) -> Path:
    """Return the folder of an agent that was told the private tasks' goals and solutions."""
    folder = workspace / "knower"
    folder.mkdir()
    shutil.copyfile(KNOWING, folder / KNOWING.name)
    known = []
    with closing(Application(workspace / "home", None)) as app:
        for record in app.home.vault.records():
            opened = app.home.vault.open(record.id, who="grace", why="tell an agent")
            known.append({"goal": opened.task.goal, "solution": opened.provenance["solutions"][0]})
    (folder / "known.json").write_text(json.dumps(known))
    return folder
