"""Tests of the service as a process: on a port, asked over a socket."""

import json
import signal
from contextlib import closing

import httpx2
import pytest

from quarterturn.app import Application
from quarterturn.http.serve import serve_runners

from ...patience import PATIENCE
from ...smuggling import REFUSED, spoken
from .conftest import served_by_process

pytestmark = pytest.mark.slow


@pytest.fixture
def started(live):
    """Serve a home with a live set by a process of its own; return its address, the process, and the home."""
    with served_by_process(live) as (url, process), closing(Application(live, None)) as house:
        yield url, process, house


def test_a_submission_from_first_to_last_over_a_socket(started):
    url, process, house = started
    token = house.auth.accounts.create("ada", "submitter")[0]
    with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE) as client:
        made = client.post("/submissions", json={"image": "agent:1", "set": "private"}).json()
        assert client.get("/quota").json()["private"]["left"] == 4
        states = []
        with client.stream("GET", f"/submissions/{made['id']}/events") as said:
            assert said.headers["content-type"] == "text/event-stream; charset=utf-8"
            for line in said.iter_lines():
                if line.startswith("data: "):
                    states.append(json.loads(line[6:])["state"])
                    if states == ["queued"]:  # it was sent while the stream was open: only now does anything change
                        claim = house.submissions.queue.claim("w")
                    elif states == ["queued", "running"]:
                        house.submissions.queue.finish(claim, "machine")
        assert states == ["queued", "running", "failed"]
        assert client.get("/quota").json()["private"]["left"] == 5
    with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
        assert client.get("/leaderboard").json()["month"] == "2026-12"
        assert client.get("/log/checkpoint").text.startswith("quarterturn.example/log\n")
        assert client.head("/tasks").status_code == 200
        said = client.post("/submissions", content=(b" " * 50_000 for _ in range(3)))
        assert (said.status_code, said.json()["code"]) == (413, "too-large")
        assert "server" not in said.headers
    assert REFUSED.fullmatch(spoken(url)), "one answer, and the connection is closed"
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(PATIENCE) == 130
    assert token not in rest
    assert "/submissions" not in rest, "nobody writes down who asked for what"


def test_the_server_for_runners_answers_nobody_else(live):
    with closing(Application(live, None)) as house, serve_runners(house.http(house.execution.executor(0))) as url:
        token = house.runners.store.add("north", 90)
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE) as client:
            assert client.post("/runner/v1/work").json()["code"] == "conflict", "it has not registered"
            for path in ("/healthz", "/leaderboard", "/sign-in", "/docs"):
                assert client.get(path).status_code == 404
