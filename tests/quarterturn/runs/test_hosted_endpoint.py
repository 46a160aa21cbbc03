"""End-to-end test of a hosted endpoint from the command line, over HTTPS, in a network of the test's own."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path

import pytest
from mcp.client import Client

from quarterturn.app import Application
from quarterturn.errors import Refused
from quarterturn.home.home import create, endpoint_sender
from quarterturn.home.paths import HomePaths
from quarterturn.runs.hosted_endpoint import Hosting
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.calendar import Month
from sandbox.runs.task_world import render_goal
from vault.errors import VaultError
from vault.keys import signing
from vault.ledger.audit.verify import audit
from vault.ledger.statements.leaf import Statement

from ...sandbox.endpoint.conftest import Authority, serve

URL = "https://203.0.113.10/tasks"
MONTH = Month.parse("2026-12")


class Box:
    name, official = "bwrap", False


class Docker:
    name, official = "docker", True


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


async def make_folder(task):
    """Solve the task with the official client, if it has the tool."""
    name = re.search(r"number-\d+", task["goal"])
    tools = {tool["name"] for tool in task["tools"]}
    if not name or "filesystem__create_directory" not in tools:
        return
    async with Client(task["mcp"]) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == tools
        for _ in range(2):  # an error may be a passing one
            path = {"path": f"/data/files/{name[0]}"}
            if not (await client.call_tool("filesystem__create_directory", path)).is_error:
                return


def agent(handler, body):
    asyncio.run(make_folder(json.loads(body)))
    handler.send_response(200)
    handler.end_headers()


def words(home, authority, *more):
    test = ("--test-allow", "203.0.113.0/24", "--test-authority", authority.pem)
    listen = ("--listen", "203.0.113.1:8701", "--public-url", "http://203.0.113.1:8701")
    return ("run", "--as", "host", "--endpoint", URL, "--box", "bwrap", "--home", home, *test, *listen, *more, "--json")


@pytest.mark.own_network
@pytest.mark.box
@pytest.mark.slow
def test_a_private_run_of_a_hosted_endpoint_from_the_first_leaf_to_the_audit(say, small, authority):
    with serve(agent, authority.server("203.0.113.10")) as heard:
        said = say(*words(small, authority, "--set", "private"))
    assert said.code == 0, said.err
    assert (said.data["track"], said.data["rank"], said.data["note"]) == ("endpoint", None, "unofficial")
    house = Application(small, None)
    sunset = house.benchmark.months.cohorts("live")[0]
    passed = said.data["whole"]["success_rate"]["value"]
    folders = [task for task in sunset.tasks if house.home.vault.record(task).server == "filesystem"]
    assert (said.data["whole"]["attempted"], passed) == (
        len(sunset.tasks),
        round(len(folders) / len(sunset.tasks) * 200) / 200,
    )
    counted = {
        task: times for task, submitter, channel, times in house.benchmark.exposures.totals() if channel == "endpoint"
    }
    assert set(counted) == set(sunset.tasks)
    smoke, *sent = [json.loads(body) for _, body in heard.requests]
    shown = {render_goal(task) for task in house.execution.facilities.dev_tasks(1)}
    assert smoke["goal"] in shown, "a public task comes first"
    assert sum(counted.values()) == len(sent) == len(sunset.tasks), "each is sent once"
    assert len({document["url"] for document in sent}) == len(sent)
    assert len({document["alias"] for document in sent}) == len(sunset.tasks)
    assert not [task for task in sunset.tasks if task in str(sent)]  # an alias, never the id
    assert house.benchmark.months.seen() == {house.home.vault.record(task).skeleton_tag for task in sunset.tasks}
    opened = Statement.parse(house.log.ledger.leaf(house.log.ledger.index_of("run-open/1")))
    assert (opened.predicate["track"], opened.predicate["cohorts"]) == ("endpoint", [sunset.id])
    house.month.rotation.run(MONTH)
    report = audit(house.home.places.releases / MONTH.release, [house.home.places.log_vkey.read_text().strip()])
    house.close()
    assert report.ok, [step for step in report.steps if not step.ok]
    secrets = [document["url"].rpartition("/")[2] for document in sent]
    assert not [secret for secret in secrets if secret in said.out + said.err]
    rows = "".join(sqlite3.connect(f"file:{small}/quarterturn.db?mode=ro", uri=True).iterdump())
    assert not [secret for secret in secrets if secret in rows]


@pytest.mark.own_network
@pytest.mark.box
@pytest.mark.slow
def test_the_dev_set_is_sent_without_a_home_and_gives_everything_back(say, tmp_path, authority):
    def do_nothing(handler, _):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"not today")

    with serve(do_nothing, authority.server("203.0.113.10")) as heard:
        said = say(*words(tmp_path / "none", authority))
    assert said.code == 0, said.err
    assert "-----BEGIN PUBLIC KEY-----" in said.err
    runs = [item["run"] for item in said.data["tasks"]]
    assert len(runs) == 12 <= len(heard.requests) <= sum(run["attempts"] for run in runs)
    assert {(run["output"], run["verdict"]) for run in runs} == {("HTTP 200\nnot today", "false")}
    assert [run["attempts"] for run in runs] == [1 + len(run["earlier"]) for run in runs]
    assert {one["failure"] for run in runs for one in run["earlier"]} <= {"ours", "unclear"}  # it was our trouble


@pytest.mark.own_network
@pytest.mark.box
@pytest.mark.slow
def test_an_endpoint_that_does_not_take_a_public_task_is_sent_no_other(say, small, authority):
    def refuse(handler, _):
        handler.send_response(418)
        handler.end_headers()

    for of_set in ("dev", "private"):
        with serve(refuse, authority.server("203.0.113.10")) as heard:
            said = say(*words(small, authority, "--set", of_set))
        assert said.code != 0
        assert "the endpoint did not take its first task: HTTP 418" in said.out + said.err
        assert 1 <= len(heard.requests) <= 3, "what failed on our side is sent again"
    said = say(*words(small, authority, "--set", "private"))
    assert "did not take its first task: no answer: Connection refused" in said.err, "nobody listens"
    house = Application(small, None)
    assert house.runs.store.list() == ()
    house.close()


def test_the_exceptions_for_tests_are_refused_in_a_run_that_counts():
    tests = [Hosting(URL, test_allow=("203.0.113.0/24",)), Hosting(URL, test_authority=Path(__file__))]
    for hosting in tests:
        for box, of_set in ((Docker(), "demo"), (Docker(), "real"), (Box(), "real")):
            with pytest.raises(Refused, match="are for tests"):
                hosting.require_official(box, of_set)
        hosting.require_official(Box(), "demo")
    Hosting(URL).require_official(Docker(), "real")


@pytest.fixture
def no_box(monkeypatch):
    """Choose a box in which nothing can be done."""
    monkeypatch.setattr("quarterturn.boxes.choose_box", lambda *_, **__: Box())


@pytest.mark.usefixtures("no_box")
@pytest.mark.parametrize(
    ("more", "code", "sentence"),
    [
        (("--endpoint", "https://127.0.0.1/"), 8, "public addresses only"),
        (("--endpoint", "https://[::ffff:10.0.0.1]/"), 8, "public addresses only"),
        (("--endpoint", "http://93.184.216.34/"), 8, "not https"),
        (("--endpoint", "https://user@agent.example.org/"), 2, "without user"),
        (("--endpoint", "https://93.184.216.34:22/"), 8, "another protocol"),
        (("--endpoint", "https://93.184.216.34/"), 2, "--public-url"),
        (("--endpoint", "https://93.184.216.34/", "--public-url", "http://93.184.216.35/"), 8, "not https"),
        (("--endpoint", "https://93.184.216.34/", "--public-url", "https://b.example.org", "--listen", "x"), 2, "PORT"),
        (("--endpoint", "https://93.184.216.34/", "--listen", "nonsense"), 2, "'nonsense' is no address to listen on"),
        (("--endpoint", "https://93.184.216.34/", "--test-allow", "nonsense"), 2, "give a range"),
        (("--endpoint", "https://93.184.216.34/", "--test-authority", "/nowhere"), 3, "is not a file"),
        (("--endpoint", "https://93.184.216.34/", "--agent", "true"), 2, "name one of"),
    ],
)
def test_a_forbidden_run_opens_no_task(say, live, more, code, sentence):
    said = say("run", "--as", "host", "--set", "private", "--box", "bwrap", "--home", live, *more)
    assert (said.code, sentence in said.sentence) == (code, True), said.sentence
    house = Application(live, None)
    assert house.runs.store.list() == ()
    assert house.benchmark.exposures.totals() == []
    house.close()


def test_a_home_has_one_sender_and_publishes_its_key(tmp_path):
    create(tmp_path / "home", Settings(benchmark=BenchmarkSettings(first_month="2026-12")), None)
    house, again = Application(tmp_path / "home", None), Application(tmp_path / "home", None)
    assert house.keys.sender.public_pem == again.keys.sender.public_pem == house.home.places.endpoint_pem.read_text()
    assert b"PRIVATE" not in house.home.places.endpoint_key.read_bytes()
    house.home.places.endpoint_key.unlink()  # a home that was made before there were endpoints
    made = endpoint_sender(HomePaths(tmp_path / "home"), house.home.ring)
    assert made.key_id != again.keys.sender.key_id
    assert house.home.places.endpoint_pem.read_text() == made.public_pem


def test_the_keys_of_the_log_and_of_endpoints_do_not_stand_for_each_other(tmp_path):
    create(tmp_path / "home", Settings(benchmark=BenchmarkSettings(first_month="2026-12")), None)
    house = Application(tmp_path / "home", None)
    house.home.places.log_key.replace(house.home.places.endpoint_key)
    with pytest.raises(VaultError):
        _ = house.keys.sender
    with pytest.raises(VaultError):
        signing.load(house.home.places.log_key, house.home.ring)
