"""Tests of the gateway's HTTP side against a hostile agent, over real connections."""

import asyncio
import itertools
import json
import re
import socket
from contextlib import suppress
from dataclasses import replace

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from sandbox.gateway import listener, warmup
from sandbox.gateway.app import HOSTS, MAX_BODY, MAX_HELD, MAX_READ, MAX_REQUESTS, App, Load
from sandbox.gateway.listener import MAX_CONNECTIONS, protocol
from sandbox.gateway.session import AgentSession, ToolReply
from sandbox.gateway.spec import GatewaySpec, listing
from sandbox.model_gateway.agent_endpoints import WIRES, Front

from ...patience import PATIENCE

HOST = "Host: 127.0.0.1:8700"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
READ = {"name": "filesystem__read_text_file", "arguments": {"path": "a"}}
SPEC = GatewaySpec("r-1", "goal", listing(["filesystem.read_text_file"]), ("filesystem",), 50)


class Echo:
    def __init__(self):
        self.expected = []

    def expect(self, server):
        self.expected.append(server)

    async def call(self, server, tool, arguments, seconds):
        text = json.dumps(arguments)
        return ToolReply([{"type": "text", "text": text}], structured={"content": text})


def served(*requests, front=None):
    """Return the raw responses to raw requests, each over its own connection, and the log after its first request."""
    log = []

    async def serve():
        app = App(AgentSession(SPEC, Echo(), log.append), front)
        async with app.running():
            make = protocol(app)
            return [await warmup.exchange(make, request) for request in requests]

    return asyncio.run(serve()), [entry for entry in log if entry != {"asked": True}]


def request(method="GET", path="/task", *headers, body=b"", host=HOST):
    lines = [f"{method} {path} HTTP/1.1", host, f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([line for line in lines if line] + ["", ""]).encode("latin-1") + body


def mcp(body, *headers):
    return request(
        "POST",
        "/mcp",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        *headers,
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
    )


def status(answer):
    return int(answer.split()[1])


def test_only_this_loopback_is_served():
    good = [request(), request(host="Host: localhost:8700"), request("GET", "/task", "Origin: http://127.0.0.1:8700")]
    bad_hosts = ["Host: evil.example", "Host: 127.0.0.1", "Host: 127.0.0.1:8700.evil.example", f"{HOST}\r\n{HOST}"]
    bad_origins = ["http://evil.example", "null", "https://127.0.0.1:8700", "http://127.0.0.1:8700.evil.example"]
    answers, _ = served(
        *good,
        *(request(host=host) for host in bad_hosts),
        *(request("GET", "/task", f"Origin: {origin}") for origin in bad_origins),
    )
    assert [status(answer) for answer in answers] == [200] * 3 + [421] * 3 + [400] + [403] * 4


@pytest.mark.parametrize("hosts", [[], sorted(HOSTS), sorted(HOSTS)[:1]], ids=["none", "two", "one"])
def test_a_request_names_one_host(hosts):
    """The protocol refuses others before; the application does not depend on it."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode()) for host in hosts]
    app = App(AgentSession(SPEC, Echo(), lambda _: None))
    asyncio.run(app({"type": "http", "method": "GET", "path": "/task", "headers": headers}, receive, send))
    assert sent[0]["status"] == (200 if len(hosts) == 1 else 421)


def test_a_wrong_method_is_told_which_are_right():
    wrong = {
        "/task": "POST",
        "/answer": "GET",
        "/mcp": "GET",
        "/mcp/": "DELETE",
        "/solution": "PUT",
        "/shortlist": "GET",
    }
    answers, _ = served(*(request(method, path) for path, method in wrong.items()), request("OPTIONS", "/mcp"))
    allowed = [re.search(rb"\r\nallow: (.*)\r\n", answer, re.IGNORECASE)[1] for answer in answers]
    chat = "/v1/chat/completions"
    with socket.socket() as link:
        (model_path,), _ = served(request("GET", chat), front=Front(link, WIRES[chat].style, ["a-model"]))
    assert {status(answer) for answer in (*answers, model_path)} == {405}
    assert b"\r\nallow: POST\r\n" in model_path
    assert allowed == [b"GET, HEAD", b"POST", b"POST", b"POST", b"GET, HEAD", b"POST", b"POST"]


def test_the_task_s_server_is_expected_at_the_first_word_of_mcp_and_not_before():
    spec, servers = replace(SPEC, server="filesystem"), Echo()

    async def serve():
        app = App(AgentSession(spec, servers, lambda _: None))
        async with app.running():
            make = protocol(app)
            await warmup.exchange(make, request())
            before = list(servers.expected)
            await warmup.exchange(make, mcp(b"{"))
            await warmup.exchange(make, mcp({**CALL, "method": "tools/list"}))
            return before

    assert asyncio.run(serve()) == []
    assert set(servers.expected) == {"filesystem"}


def test_head_is_get_without_a_body():
    (got, headed), _ = served(request(), request("HEAD"))
    head, _, body = got.partition(b"\r\n\r\n")
    assert (headed, b"goal" in body) == (head + b"\r\n\r\n", True)


def test_nothing_else_is_there():
    answers, _ = served(
        request("GET", "/"),
        request("GET", "/task/../solution"),
        request("POST", "/task"),
        request("GET", "/mcp"),
        request("DELETE", "/mcp"),
        request("GET", "/solution"),
        request("GET", "/docs"),
    )
    assert [status(answer) for answer in answers] == [404, 404, 405, 405, 405, 404, 404]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"nul", b'{"a": NaN}', b'{"a": 1e999}', b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"a": "\\ud800"}', b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", b"[" * 900_000,
        b'{"a": ' + b"9" * 5000 + b"}", b'{"a": [' + b"0," * 30_000 + b"0]}", b"\xff\xfe",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)  # fmt: skip
def test_json_that_two_readers_could_take_differently_is_refused(body):
    answers, log = served(mcp(body), request("POST", "/answer", body=body))
    assert [status(answer) for answer in answers] == [400, 400]
    assert json.loads(answers[0].partition(b"\r\n\r\n")[2])["id"] is None
    assert log == []


NESTED = json.loads("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"a": "x" * 2 * MAX_BODY}, f"bytes; {MAX_BODY} are allowed"),
        ({"a": "x" * MAX_READ}, f"{MAX_BODY} are allowed"),
        ({"a": NESTED}, "nested deeper than 64 levels"),
        ({"a": "\ud800"}, "$.params.arguments.a: "),
        ({"a": float("nan")}, "NaN is no JSON number"),
        ({"a": [0] * 30_000}, "more than 20000 values"),
    ],
    ids=["long", "longer", "deep", "surrogate", "nan", "many"],
)
def test_a_call_that_is_refused_unread_is_answered_under_its_id(arguments, why):
    params = {"name": "filesystem__read_text_file", "arguments": arguments}
    answers, log = served(mcp({**CALL, "id": "c-1", "params": params}))
    head, _, body = answers[0].partition(b"\r\n\r\n")
    answer = json.loads(body)
    assert (status(head), answer["id"], answer["error"]["code"]) == (200, "c-1", -32600)
    assert why in answer["error"]["message"]
    assert log == [], "it is no call"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_raises_an_error_for_a_refused_call_and_goes_on(mode, tmp_path):
    log = []

    async def play():
        app, address = App(AgentSession(SPEC, Echo(), log.append)), str(tmp_path / "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            async with app.running(), await listener.listen(app, listening):
                http = httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=address), timeout=PATIENCE)
                slash = streamable_http_client("http://127.0.0.1:8700/mcp/", http_client=http)
                async with http, Client(slash, mode=mode) as client:
                    for path_argument in ("x" * 2 * MAX_BODY, NESTED):  # its HTTP library fails on a lone surrogate
                        with pytest.raises(MCPError, match=r"are allowed|nested deeper"):
                            await client.call_tool(READ["name"], {"path": path_argument})
                        assert not (await client.call_tool(READ["name"], {"path": "a"})).is_error

    asyncio.run(play())
    assert len([entry for entry in log if "call" in entry]) == 2, "refused ones are not counted"


def test_sizes_are_capped():
    huge = b'{"answer": "' + b"x" * MAX_BODY + b'"}'
    lying = request("POST", "/answer", body=huge)
    long_head = request("GET", "/task", f"X-Long: {'x' * 600_000}")
    answers, log = served(lying, long_head, request("POST", "/answer", body=b'{"answer": "' + b"x" * 70_000 + b'"}'))
    assert [status(answer) for answer in answers] == [413, 400, 413]
    assert log == []


@pytest.mark.parametrize("body", [b"{}", b'{"answer": 1}', b'{"answer": "a", "score": 1}', b'"a"', b'{"answer": null}'])
def test_an_answer_is_one_text(body):
    answers, log = served(request("POST", "/answer", body=body))
    assert status(answers[0]) == 400
    assert log == []


def test_a_request_whose_length_is_declared_in_two_ways_is_refused_and_what_follows_is_not_read():
    hidden = request("POST", "/answer", body=b'{"answer": "x"}')
    kept = hidden.replace(b"Connection: close", b"Transfer-Encoding: chunked")
    answers, log = served(kept.replace(b'{"answer"', b"0\r\n\r\n" + hidden))
    assert (status(answers[0]), answers[0].count(b"HTTP/1.1")) == (400, 1)
    assert log == []


def test_requests_behind_each_other_are_served_one_by_one():
    one = request().replace(b"Connection: close", b"Connection: keep-alive")
    answers, _ = served(one + one + request(), one + b"POST /nothing HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answers[0].count(b"HTTP/1.1 200") == 3
    assert (answers[1].count(b"HTTP/1.1 200"), answers[1].count(b"HTTP/1.1 400")) == (1, 1)


class Slow(Echo):
    """Servers that answer once a test releases them."""

    def __init__(self):
        super().__init__()
        self.go = anyio.Event()

    async def call(self, server, tool, arguments, seconds):
        await self.go.wait()
        return ToolReply([])


def flood(requests):
    """Send all requests at once to servers that wait, and give the statuses in the order of sending."""
    slow = Slow()

    async def serve():
        app = App(AgentSession(SPEC, slow, lambda _: None))
        async with app.running():
            make = protocol(app)
            tasks = [asyncio.create_task(warmup.exchange(make, one)) for one in requests]
            with anyio.move_on_after(PATIENCE):
                for refused in itertools.islice(asyncio.as_completed(tasks), len(requests) - MAX_REQUESTS):
                    await refused
            slow.go.set()
            return [status(answer) for answer in await asyncio.gather(*tasks)]

    return asyncio.run(serve())


def test_requests_in_flight_are_counted():
    said = flood([mcp({**CALL, "params": READ})] * (MAX_REQUESTS + 9))
    assert (said.count(200), said.count(503)) == (MAX_REQUESTS, 9)


def test_held_bytes_are_counted_too():
    fat = mcp({**CALL, "params": {**READ, "arguments": {"path": "x" * (MAX_BODY - 1000)}}})
    said = flood([fat] * (MAX_REQUESTS + 9))
    assert said.count(200) == MAX_HELD // MAX_BODY
    assert said.count(503) == MAX_REQUESTS + 9 - said.count(200)


def test_a_shortlist_of_listed_tools_is_logged_and_any_other_is_refused_with_what_is_wrong():
    good = b'{"tools": ["filesystem__read_text_file"]}'
    bad = {
        b"{": b"not JSON",
        b'["filesystem__read_text_file"]': b"must be a JSON object",
        b'{"tools": "filesystem__read_text_file"}': b"must be",
        b'{"tools": [1]}': b"must be",
        b'{"tools": [], "more": 1}': b"must be",
        b'{"tools": ["rm\\u001b -rf"]}': b"names rm",
        b'{"tools": ["filesystem__read_text_file", "filesystem__read_text_file"]}': b"a tool twice",
    }
    answers, log = served(*(request("POST", "/shortlist", body=body) for body in [*bad, good, good]))
    assert [status(answer) for answer in answers] == [400] * len(bad) + [200, 409]
    assert [says for answer, says in zip(answers, bad.values(), strict=False) if says not in answer] == []
    assert b"\x1b" not in b"".join(answers)
    assert log == [{"shortlist": ["filesystem.read_text_file"]}]


def test_the_load_goes_back_to_nothing():
    load = Load()
    with load.request() as one, load.request() as other:
        assert not one.beyond(MAX_HELD)
        assert other.beyond(1)
    assert (load.requests, load.held) == (0, 0)


def test_a_call_that_is_no_call_is_refused_and_not_counted():
    bad = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
    ]
    answers, log = served(*map(mcp, bad))
    assert all(b'"error"' in answer for answer in answers)
    assert log == []


def test_a_plain_request_calls_a_tool_without_a_handshake():
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "filesystem__read_text_file"}}
    answers, log = served(mcp(message))
    assert status(answers[0]) == 200
    assert next(entry for entry in log if "call" in entry)["tool"] == "filesystem.read_text_file"


def connected(send, seconds, count=1):
    """Open connections, send, and give how many the gateway closed within `seconds`."""

    async def run():
        app = App(AgentSession(GatewaySpec("r", "g", [], (), 1), Echo(), lambda _: None))
        make = protocol(app)
        ends = []
        loop = asyncio.get_running_loop()
        for _ in range(count):
            near, far = socket.socketpair()
            near.settimeout(0)
            await loop.connect_accepted_socket(make, far)
            ends.append(near)
        for near in ends:
            with suppress(OSError):
                await loop.sock_sendall(near, send)
        closed = 0
        with anyio.move_on_after(seconds):
            for near in reversed(ends):
                with suppress(OSError):
                    while await loop.sock_recv(near, 65536):
                        pass
                closed += 1
        for near in ends:
            near.close()
        for _ in ends:
            await asyncio.sleep(0)  # the gateway's own ends close in the next turns
        return closed

    return asyncio.run(run())


@pytest.mark.slow
def test_a_head_that_does_not_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(listener.Connection, "head_seconds", 0.2)
    assert connected(b"GET /task HTTP/1.1\r\nHost: ", 60) == 1
    assert connected(b"", 60) == 1


def test_a_body_that_does_not_come_is_cut_off(monkeypatch):
    monkeypatch.setattr("sandbox.gateway.app.BODY_SECONDS", 0.2)
    head = f"POST /answer HTTP/1.1\r\n{HOST}\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    assert connected(head.encode(), 60) == 1


def test_a_body_that_nobody_reads_is_cut_off_too(monkeypatch):
    monkeypatch.setattr(listener, "BODY_SECONDS", 0.2)
    head = "POST /answer HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n{"
    assert connected(head.encode(), 60) == 1


@pytest.mark.slow
def test_half_a_request_behind_another_is_cut_off(monkeypatch):
    monkeypatch.setattr(listener.Connection, "head_seconds", 0.2)
    assert connected(f"GET /task HTTP/1.1\r\n{HOST}\r\n\r\nGET /task HT".encode(), 60) == 1
    assert connected(f"GET /task HTTP/1.1\r\n{HOST}\r\n\r\n".encode(), 1) == 0, "an idle connection may wait"


@pytest.mark.slow
def test_connections_are_counted(monkeypatch):
    monkeypatch.setattr(listener.Connection, "head_seconds", 600.0)
    assert any(connected(b"GET /", seconds, count=MAX_CONNECTIONS + 20) == 20 for seconds in (0.5, 5, 60))


def test_the_warm_up_meets_no_surprise():
    asyncio.run(warmup._play())
