"""Tests of the gateway's edge cases: a reply after the deadline, and a request without a host."""

from __future__ import annotations

import asyncio
from itertools import chain, repeat

import pytest

from sandbox.gateway import listing
from sandbox.gateway.app import HOSTS, App
from sandbox.gateway.session import AgentSession, ToolReply
from sandbox.gateway.spec import GatewaySpec

SPEC = GatewaySpec("r-1", "do", listing(["filesystem.read_text_file"]), ("filesystem",), 5, wall=10.0)


class NoServer:
    async def call(self, server, tool, arguments, seconds):
        return ToolReply([])


@pytest.mark.parametrize(("seconds", "taken"), [(9.9, True), (10.0, False)])
def test_an_answer_is_taken_while_there_is_time(seconds, taken):
    log, now = [], chain([1000.0], repeat(1000.0 + seconds))
    session = AgentSession(SPEC, NoServer(), log.append, clock=lambda: next(now))
    session.begin()
    assert session.answer("42") is taken
    ends = [{"answer": "42"}, {"ended": "answered"}] if taken else [{"ended": "time-exceeded"}]
    assert log == [{"asked": True}, *ends], "the first request is logged, once"


@pytest.mark.parametrize("hosts", [[], sorted(HOSTS), sorted(HOSTS)[:1]], ids=["none", "two", "one"])
def test_a_request_names_one_host(hosts):
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode()) for host in hosts]
    scope = {"type": "http", "method": "GET", "path": "/task", "headers": headers}
    app = App(AgentSession(SPEC, NoServer(), lambda _: None))
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == (200 if len(hosts) == 1 else 421)
