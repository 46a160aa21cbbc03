"""Tests of the service as a process: on a port, asked over a socket."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from quarterturn.app import Application

from ...patience import PATIENCE

QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
HEEDING = ["env", "--default-signal=INT"]  # a shell makes its background jobs ignore it
pytestmark = pytest.mark.slow


@pytest.fixture
def started(live) -> Iterator[tuple[str, subprocess.Popen[str], Application]]:
    command = [*HEEDING, QUARTERTURN, "serve", "--home", live, "--port", "0", "--workers", "0", "--no-clock"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    house, alarm = Application(live, None), threading.Timer(PATIENCE, process.kill)
    alarm.start()
    try:
        line = process.stderr.readline()
        found = re.search(r"serving .* at (http://127\.0\.0\.1:\d+)", line)
        assert found, line + process.stderr.read()
        yield found[1], process, house
    finally:
        process.kill()
        process.wait()
        alarm.cancel()
        process.stderr.close()
        house.close()


def test_a_submission_from_first_to_last_over_a_socket(started):
    url, process, house = started
    token = house.accounts.create("ada", "submitter")[0]
    with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE) as client:
        made = client.post("/submissions", json={"image": "agent:1", "set": "private"}).json()
        assert client.get("/quota").json()["private"]["left"] == 4
        states = []
        with client.stream("GET", f"/submissions/{made['id']}/events") as said:
            for line in said.iter_lines():
                if line.startswith("data: "):
                    states.append(json.loads(line[6:])["state"])
                    if states == ["queued"]:  # it was sent while the stream was open: only now does anything change
                        claim = house.queue.claim("w")
                    elif states == ["queued", "running"]:
                        house.queue.finish(claim, "machine")
        assert states == ["queued", "running", "failed"]
        assert client.get("/quota").json()["private"]["left"] == 5
    with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
        assert client.get("/leaderboard").json()["month"] == "2026-12"
        assert client.get("/log/checkpoint").text.startswith("quarterturn.example/log\n")
        assert client.head("/tasks").status_code == 200
        said = client.post("/submissions", content=(b" " * 50_000 for _ in range(3)))
        assert (said.status_code, said.json()["code"]) == (413, "too-large")
        assert "server" not in said.headers
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(PATIENCE) == 130
    assert token not in rest
    assert "/submissions" not in rest, "nobody writes down who asked for what"
