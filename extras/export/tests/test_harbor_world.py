"""Tests that an exported Harbor task is judged: nothing done has reward 0, and the reference solution has reward 1."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quarterturn.boxes import bwrap
from quarterturn.public_records import sources
from quarterturn.runs import world_server
from quarterturn_export import harbor
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from tests.patience import PATIENCE, until
from vault.task.document import Task

pytestmark = [pytest.mark.box, pytest.mark.full]


def play(folder: Path, place: Path, *, solved: bool, steps: int = 0) -> tuple[dict[str, object], str]:
    """Serve an exported task's world, play its solution or nothing, and run its verifier; give session and reward."""
    world, logs = place / "world", place / "logs"
    world.mkdir(parents=True)
    document = json.loads((folder / "environment/world/task.json").read_bytes())
    task = Task.parse(document | {"max_steps": steps} if steps else document)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    session: dict[str, object] = {}

    def serve() -> None:
        session.update(world_server.serve(task, bwrap(), world, port=port, seconds=PATIENCE))

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        until(lambda: (world / "ready").exists() or not serving.is_alive(), "the world is served")
        there = {"MCP_URL": f"http://127.0.0.1:{port}/mcp", "LOGS": str(logs), "SOLUTION": str(folder / "solution")}
        if solved:
            environment = {**os.environ, **there}
            subprocess.run([folder / "solution/solve.sh"], env=environment, check=True)
    finally:
        (world / "finish").touch()
        serving.join(PATIENCE)
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    paths = {"PATH": path, "WORLD": str(world), "TESTS": str(folder / "tests"), "LOGS": str(logs)}
    subprocess.run([folder / "tests/test.sh"], env={**os.environ, **paths}, check=True)
    return session, (logs / "verifier/reward.txt").read_text().strip()


def test_nothing_has_reward_0_and_the_reference_solution_1(tmp_path):
    drafts = shipped_dev_sets.drafts(DEMO)
    chosen = next(draft for draft in drafts if len(draft.provenance["solutions"][0]["calls"]) > 1)
    for name, data in harbor.files(sources.dev_set("demo", [chosen])).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755)
    folder = tmp_path / chosen.task["id"]
    assert play(folder, tmp_path / "null", solved=False)[1] == "0"
    session, reward = play(folder, tmp_path / "solved", solved=True)
    assert (session["counts"], reward) == (True, "1")
    session, reward = play(folder, tmp_path / "exceeded", solved=True, steps=1)
    assert (session["ended"], session["counts"], reward) == ("steps-exceeded", False, "0")
