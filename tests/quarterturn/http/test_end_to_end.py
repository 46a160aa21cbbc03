"""End-to-end test from a request to the leaderboard: real agents, boxed or hosted, through queue and ledger."""

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from quarterturn.runs import request
from quarterturn.runs.hosted_endpoint import Hosting
from quarterturn.settings import RunSettings
from rotation.leaderboard import figures
from sandbox.runs.store import RunState

from ...patience import PATIENCE, until
from ...sandbox.endpoint.conftest import Authority
from ...sandbox.endpoint.conftest import serve as in_front
from ..guides import heard_at

ROOT = Path(__file__).parents[3]
IMAGE = "quarterturn-agent-rulebook:latest"  # made by `./run images`
UNHURRIED = {"requests_per_minute": 10**9}  # the application's clock stands still
ENDED = ("done", "failed", "cancelled")


def ended(site, name, who):
    """Wait for the end of a submission, and give what its owner is shown."""
    until(lambda: site.get(f"/submissions/{name}", who).json()["state"] in ENDED, f"the end of {name}")
    return site.get(f"/submissions/{name}", who).json()


def leaderboard(site):
    return {line["run"]: line for line in site.get("/leaderboard").json()["lines"]}


@pytest.mark.engine
@pytest.mark.slow
def test_an_image_goes_from_a_request_to_the_leaderboard(playable, serve):
    ada = f"ada-{os.getpid()}"  # others may be testing with the same engine
    subprocess.run(["docker", "tag", IMAGE, f"{ada}/rulebook:1"], check=True)
    try:
        with serve(playable, workers=1, limits={"images": ("{account}/",)} | UNHURRIED) as site:
            site.house.home.settings = site.house.home.settings.model_copy(update={"run": RunSettings(workers=2)})
            site.account(ada)
            site.account("eve")
            wanted = {"image": f"{ada}/rulebook:1", "set": "private"}
            assert site.post("/submissions", wanted, "eve").json()["code"] == "not-yours"
            made = site.post("/submissions", wanted, ada).json()
            end = ended(site, made["id"], ada)
            assert (end["state"], end["failure"]) == ("done", None)
            line, record = leaderboard(site)[end["run"]], site.house.runs.store.get(end["run"])
    finally:
        subprocess.run(["docker", "image", "rm", f"{ada}/rulebook:1"], check=True, stdout=subprocess.DEVNULL)
    assert (record.state, record.box, record.official, record.track) == (RunState.DONE, "docker", True, "docker")
    assert (line["track"], line["rank"], line["name"]) == ("docker", 1, "rulebook")
    assert {part: line[part] for part in figures.PARTS} == end["figures"]
    assert (line["whole"]["attempted"], line["whole"]["unknown"]) == (8, 0)
    assert site.house.log.ledger.find(f"score/{end['run']}") is not None


@contextmanager
def hosted(pem, url, port):
    """Serve the example endpoint, with the example agent, on the loopback."""
    agent = [sys.executable, str(ROOT / "examples" / "agents" / "rulebook" / "agent.py")]
    server = [sys.executable, str(ROOT / "examples" / "endpoint" / "server.py"), str(pem), url, str(port)]
    with subprocess.Popen([*server, *agent], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: heard_at(port), "the endpoint listens")
            yield
        finally:
            process.kill()


def hand_on(port, site):
    """Act as a TLS terminator before an endpoint that answers to private tasks once two runs are under way."""
    public = site.house.execution.facilities.dev_tasks(1)[0].goal

    def handed(handler, body):
        if not json.loads(body)["goal"].startswith(public):  # the rule of its frame follows
            until(lambda: len(site.house.runs.store.list()) == 2, "both runs")
        behind = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        behind.request("POST", handler.path, body, dict(handler.headers))
        handler.send_response(behind.getresponse().status)
        handler.end_headers()
        behind.close()

    return handed


@pytest.mark.own_network
@pytest.mark.box
@pytest.mark.slow
def test_two_hosted_endpoints_are_run_at_once_and_are_on_the_leaderboard(playable, serve, tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    exceptions = {"test_allow": ("203.0.113.0/24",), "test_authority": authority.pem}
    monkeypatch.setattr(request, "Hosting", partial(Hosting, **exceptions))
    limits = {"callbacks": "203.0.113.1:8701", "callbacks_url": "http://203.0.113.1:8701"} | UNHURRIED
    url = "https://203.0.113.10/tasks"
    with serve(playable, workers=2, limits=limits) as site:
        site.house.home.settings = site.house.home.settings.model_copy(update={"run": RunSettings(box="bwrap")})
        with (
            hosted(site.house.home.places.endpoint_pem, url, 9000),
            in_front(hand_on(9000, site), authority.server("203.0.113.10")) as heard,
        ):
            names = {
                who: site.post("/submissions", {"endpoint": url, "set": "private"}, site.account(who)).json()["id"]
                for who in ("ada", "bob")
            }
            ends = {who: ended(site, name, who) for who, name in names.items()}
        assert [(one["state"], one["failure"]) for one in ends.values()] == [("done", None)] * 2
        lines = [leaderboard(site)[one["run"]] for one in ends.values()]
        index_of, runs = site.house.log.ledger.index_of, [one["run"] for one in ends.values()]
        leaves = {leaf: [index_of(f"{leaf}/{run}") for run in runs] for leaf in ("run-open", "score")}
    assert {line["track"] for line in lines} == {"endpoint"}
    assert {line["whole"]["attempted"] for line in lines} == {2}, "what reads tasks is served the sunset cohort alone"
    assert len(heard.requests) >= 6
    assert max(leaves["run-open"]) < min(leaves["score"]), "they were played at the same time"
