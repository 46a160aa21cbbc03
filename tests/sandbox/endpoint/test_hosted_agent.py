"""Tests of a hosted endpoint as an agent's place: what it is sent, when it has ended, and who caused a failure."""

from __future__ import annotations

import http.client
import json
import threading
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest

from sandbox.boxes.box import ExitFacts, Program, ResourceLimits
from sandbox.endpoint.address import Exceptions, Pinned, parse
from sandbox.endpoint.callbacks import Callbacks
from sandbox.endpoint.hosted_agent import EndpointLauncher, public_base
from sandbox.errors import Lost, Malformed, Refused

from ...patience import PATIENCE, until
from .conftest import stand_in

pytestmark = [pytest.mark.own_network, pytest.mark.slow]

URL = "https://agent.example.org/tasks"
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
LIMITS = ResourceLimits(wall=30, output=500)
RUNNING, DONE, FAILED = ExitFacts(running=True), ExitFacts(False, 0), ExitFacts(False, 1)


@pytest.fixture
def places(authority, sender):
    """Make places whose callbacks are served in this network."""

    def make(callbacks, address="203.0.113.10"):
        pinned = Pinned(parse(URL), ip_address(address))
        return EndpointLauncher(pinned, sender, callbacks, authority.exceptions, now=lambda: NOW, nonce=lambda: "n-1")

    return make


def listening():
    return Callbacks("203.0.113.1:8701", "http://203.0.113.1:8701")


def answer(status, body=b""):
    def behave(handler, _):
        handler.send_response(status)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def ended(agent):
    facts = agent.wait(PATIENCE)
    assert not facts.running, "it did not end"
    return facts


def call_back(url, body):
    target = parse(url)
    connection = http.client.HTTPConnection(target.host, target.port, timeout=PATIENCE)
    connection.request("POST", target.target, body)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_task_is_sent_with_a_way_back_that_is_open_while_it_is_worked_on(places, hosted, sender, tmp_path):
    said = []

    def work(handler, body):
        said.append(call_back(json.loads(body)["answer"], b'{"answer": "42"}'))
        answer(200, b"\x1b[2Jdone")(handler, body)

    with stand_in(tmp_path) as inner, hosted(work) as heard, listening() as callbacks:
        place = places(callbacks).place(Program(), tmp_path, LIMITS)
        assert heard.requests == inner.requests == []  # prepared, and nothing is sent
        agent = place.start()
        assert ended(agent) == DONE
        assert agent.output() == "HTTP 200\n\\x1b[2Jdone"
        place.close()
        place.close()
        [(headers, body)] = heard.requests
        document = json.loads(body)
        assert call_back(document["answer"], b"late") == 404
    token = document["url"].rpartition("/")[2]
    base = f"http://203.0.113.1:8701/run/{token}"
    assert document == {
        "schema": "quarterturn/endpoint-task/v1", "alias": "r-1", "goal": "Make the folder x.", "max_steps": 8,
        "tools": [{"name": "filesystem__x"}], "url": base, "mcp": f"{base}/mcp", "answer": f"{base}/answer",
        "deadline": "2026-12-01T09:30:30Z", "seconds": 30,
    }  # fmt: skip
    assert said == [200]
    assert [(seen[":"], body) for seen, body in inner.requests] == [
        ("GET /task", b""),
        ("POST /answer", b'{"answer": "42"}'),
    ]
    expected = sender.headers(URL, body, created=int(NOW.timestamp()), nonce="n-1")
    assert {name: headers[name] for name in expected} == expected


@pytest.mark.parametrize("status", [204, 302, 400, 401, 404, 500, 503])
def test_an_endpoint_that_does_not_take_the_task_has_ended(places, hosted, tmp_path, status):
    with stand_in(tmp_path), hosted(answer(status)), listening() as callbacks:
        agent = places(callbacks).place(Program(), tmp_path, LIMITS).start()
        assert ended(agent) == FAILED
        assert agent.output() == f"HTTP {status}\n"
        agent.kill()


def test_an_accepted_task_goes_on_without_the_connection(places, hosted, tmp_path):
    with stand_in(tmp_path), hosted(answer(202)) as heard, listening() as callbacks:
        agent = places(callbacks).place(Program(), tmp_path, LIMITS).start()
        until(agent.output, "the answer")
        assert agent.wait(0.01) == RUNNING
        url = json.loads(heard.requests[0][1])["answer"]
        assert call_back(url, b"{}") == 200
        agent.kill()
        assert call_back(url, b"{}") == 404


def test_an_endpoint_that_says_nothing_works_until_it_is_killed(places, hosted, tmp_path):
    over = threading.Event()
    with stand_in(tmp_path), hosted(lambda *_: over.wait(PATIENCE)), listening() as callbacks:
        agent = places(callbacks).place(Program(), tmp_path, LIMITS).start()
        assert agent.wait(0.2) == RUNNING
        agent.kill()
        agent.kill()
        assert agent.wait(PATIENCE) == FAILED
        over.set()


def test_no_way_out_of_this_machine_is_ours(places, tmp_path):
    with stand_in(tmp_path), listening() as callbacks:
        agent = places(callbacks, address="192.0.2.1").place(Program(), tmp_path, LIMITS).start()
        assert ended(agent) == ExitFacts(running=False, exit_code=1, lost=True)
        agent.kill()


def test_callbacks_that_nobody_hears_any_more_are_a_fact_like_a_relays_death(places, hosted, tmp_path):
    over = threading.Event()
    with stand_in(tmp_path), hosted(lambda *_: over.wait(PATIENCE)), listening() as callbacks:
        agent = places(callbacks).place(Program(), tmp_path, LIMITS).start()
        callbacks._process.kill()
        assert ended(agent) == ExitFacts(running=False, relay_died=True)
        agent.kill()
        after = places(callbacks).place(Program(), tmp_path, LIMITS).start()
        assert after.wait(0.2) == RUNNING, "what listens was started again"
        after.kill()
        over.set()


def test_a_gateway_that_is_gone_lets_nothing_be_sent(places, hosted, tmp_path):
    with hosted(answer(200)) as heard, listening() as callbacks:
        with pytest.raises(Lost, match="gateway"):
            places(callbacks).place(Program(), tmp_path, LIMITS).start()
        assert heard.requests == []


def test_a_program_of_ours_is_not_an_endpoint(places):
    with listening() as callbacks, pytest.raises(Refused, match="runs at its owner's"):
        places(callbacks).place(Program(command=("true",)), None, LIMITS)


def test_the_way_back_is_https_but_for_tests(authority):
    assert public_base("https://bench.example.org/cb/", Exceptions()) == "https://bench.example.org/cb"
    assert public_base("http://203.0.113.1:8701", authority.exceptions) == "http://203.0.113.1:8701"
    with pytest.raises(Refused, match="not https"):
        public_base("http://93.184.216.34/", Exceptions())
    with pytest.raises(Malformed, match="query"):
        public_base("https://bench.example.org/?a", Exceptions())
