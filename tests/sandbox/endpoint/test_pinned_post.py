"""Tests of the one POST to an endpoint, over real TLS: what is sent, and hostile answers.

Nothing here leaves the namespace: its addresses are of RFC 5737 and RFC 3849, on its own loopback.
"""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import threading
from ipaddress import ip_address
from pathlib import Path

import pytest

from sandbox.endpoint.address import Exceptions, Pinned, parse, pin
from sandbox.endpoint.pinned_post import Caps, Exchange, tls
from sandbox.errors import Malformed

from ...patience import PATIENCE, until
from .conftest import serve

pytestmark = [pytest.mark.own_network, pytest.mark.slow]

URL = "https://agent.example.org/tasks?x=1"
CAPS = Caps(seconds=20, kept=1000)
SOON = Caps(seconds=1, kept=1000)


def at(url=URL, address="203.0.113.10"):
    return Pinned(parse(url), ip_address(address))


def post(pinned, exceptions, caps=CAPS, body=b'{"goal": "x"}'):
    context = tls(exceptions) if pinned.target.scheme == "https" else None
    exchange = Exchange(pinned, {"Content-Type": "application/json", "X-Signed": "1"}, body, caps, context=context)
    outcome = exchange.wait(PATIENCE)
    assert outcome is not None
    return outcome


def answer(status, body=b"", **fields):
    def behave(handler, _):
        handler.send_response(status)
        for name, value in fields.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def test_exactly_the_request_is_sent(authority, context, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://203.0.113.66:3128")
    monkeypatch.setenv("SSLKEYLOGFILE", "/nowhere/keys")
    with serve(answer(200, b"thanks"), context) as heard:
        outcome = post(at(), authority.exceptions)
    assert (outcome.status, outcome.ours, outcome.said) == (200, False, b"thanks")
    [(headers, body)] = heard.requests
    assert body == b'{"goal": "x"}'
    assert headers == {
        "Host": "agent.example.org", "User-Agent": "quarterturn", "Accept-Encoding": "identity", "Connection": "close",
        "Content-Length": "13", "Content-Type": "application/json", "X-Signed": "1",
    }  # fmt: skip


def test_addresses_and_other_ports_are_served_too(authority, context):
    with serve(answer(202), context, "2001:db8::10", 8443) as heard:
        assert post(at("https://[2001:db8::10]:8443/", "2001:db8::10"), authority.exceptions).status == 202
    assert heard.requests[0][0]["Host"] == "[2001:db8::10]:8443"


def test_the_name_in_the_url_must_be_proven_at_the_pinned_address(authority, stranger, context):
    with serve(answer(200), context) as heard:
        wrong_name = post(at("https://other.example.org/"), authority.exceptions)
        unknown_authority = post(at(), Exceptions(authority.exceptions.ranges))
        another_authority = post(at(), stranger.exceptions)
    for outcome in (wrong_name, unknown_authority, another_authority):
        assert (outcome.status, outcome.ours) == (None, False)
        assert b"certificate" in outcome.said
    assert heard.requests == []


def test_a_name_that_is_bound_anew_leads_nowhere_else(authority, context):
    """The name resolves here once, and later to an internal server; it is not resolved again."""
    answers = [["203.0.113.10"], ["198.51.100.10"], ["198.51.100.10"]]
    pinned = pin(parse(URL), authority.exceptions, resolver=lambda *_: answers.pop(0))
    with serve(answer(200), context) as heard, serve(answer(200), context, "198.51.100.10") as inside:
        assert [post(pinned, authority.exceptions).status for _ in range(3)] == [200] * 3
    assert (len(heard.requests), inside.requests) == (3, [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(authority, context, status):
    inside = "https://198.51.100.10/"
    with serve(answer(status, Location=inside), context), serve(answer(200), context, "198.51.100.10") as other:
        assert post(at(), authority.exceptions).status == status
    assert other.requests == []


def test_a_huge_response_is_cut(authority, context):
    def flood(handler, _):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    with serve(flood, context):
        outcome = post(at(), authority.exceptions)
    assert (outcome.status, outcome.said) == (200, b"x" * 1000)


def test_a_bomb_stays_packed(authority, context):
    bomb = gzip.compress(b"0" * 50_000_000)
    with serve(answer(200, bomb, Content_Encoding="gzip", Content_Length=str(len(bomb))), context):
        outcome = post(at(), authority.exceptions)
    assert (outcome.status, outcome.said) == (200, bomb[:1000])


def endless_head(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-More: " + b"y" * 1000 + b"\r\n")


def early_hints(handler, _):
    while True:
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")


def no_http(handler, _):
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)


def nothing(handler, _):
    handler.connection.close()


def no_record(handler, _):
    """Break TLS after the task was read: the library's error number equals EPERM."""
    with socket.socket(fileno=os.dup(handler.connection.fileno())) as bare:
        bare.sendall(b"\x17\x03\x03\x00\x20" + b"z" * 32)


@pytest.mark.parametrize("behave", [endless_head, early_hints, no_http, nothing, no_record])
def test_a_malformed_response_is_the_endpoints_failure(authority, context, behave):
    with serve(behave, context):
        outcome = post(at(), authority.exceptions)
    assert (outcome.status, outcome.ours) == (None, False)


def test_an_unforeseen_error_gives_no_retry_to_an_endpoint_that_has_the_task(authority, context, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(Exchange, "_events", lambda *_: 1 / 0)
    with serve(answer(200), context):
        outcome = post(at(), authority.exceptions)
    assert (outcome.status, outcome.ours) == (None, False)


def test_drops_of_a_response_do_not_outlast_the_deadline(authority, context):
    over = threading.Event()

    def drip(handler, _):
        handler.wfile.write(b"HTTP/1.1 200 ")
        while not over.wait(0.1):
            handler.wfile.write(b"O")

    with serve(drip, context):
        outcome = post(at(), authority.exceptions, SOON)
        over.set()
    assert (outcome.status, outcome.ours) == (None, False)


def test_a_status_that_was_said_stands_though_its_body_never_ends(authority, context):
    over = threading.Event()

    def stall(handler, _):
        handler.wfile.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 50\r\n\r\nabc")
        over.wait(PATIENCE)

    with serve(stall, context):
        for seconds in (1, 10, 60):  # long enough for the status to come
            outcome = post(at(), authority.exceptions, Caps(seconds, kept=1000))
            if outcome.status is not None:
                break
        over.set()
    assert outcome.status == 202


def test_a_server_that_takes_no_request_is_cut_off(authority):
    with socket.create_server(("203.0.113.10", 443)):
        assert post(at(), authority.exceptions, SOON).status is None


def test_it_can_be_cancelled_at_any_moment(authority, context):
    over = threading.Event()
    with serve(lambda *_: over.wait(PATIENCE), context) as heard:
        exchange = Exchange(at(), {}, b"x", Caps(600, 10), context=tls(authority.exceptions))
        until(lambda: heard.requests, "the request")
        exchange.cancel()
        exchange.cancel()
        assert exchange.wait(0).status is None
        over.set()


def test_an_authority_must_be_one(tmp_path):
    (tmp_path / "empty.pem").write_text("-----BEGIN NOTHING-----\n")
    with pytest.raises(Malformed, match="holds no certificates"):
        tls(Exceptions(authority=tmp_path / "empty.pem"))


def test_a_closed_port_is_the_endpoints_failure_and_no_route_at_all_is_ours(authority):
    refused = post(at(), authority.exceptions)
    assert (refused.status, refused.ours) == (None, False)
    unreachable = post(at(address="192.0.2.1"), authority.exceptions)  # this network has no route to it
    assert (unreachable.status, unreachable.ours) == (None, True)


ROUTED = "ip link set lo up; ip route add 192.0.2.0/24 dev lo"
ASKED = """
import errno, sys
from sandbox.endpoint.pinned_post import NO_ROUTE, NOT_SENT, _is_ours
sys.exit(sum(1 << bit for bit, error in enumerate((errno.ENETUNREACH, errno.EPERM, errno.ENFILE)) if _is_ours(error)))
"""


@pytest.mark.needs("netns")
@pytest.mark.parametrize(("network", "ours"), [(ROUTED, 0b100), ("true", 0b101)])
def test_an_address_without_a_route_is_theirs_where_this_machine_has_one(network, ours):
    """An address that is unreachable, or that a firewall rule forbids, is the endpoint's choice."""
    words = ["unshare", "--net", "sh", "-ec", f'{network}; exec "$0" -c "$1"', sys.executable, ASKED]
    assert subprocess.run(words, check=False, cwd=Path(__file__).parents[3]).returncode == ours
