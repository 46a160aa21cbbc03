"""Tests of callbacks: a token opens one run's gateway while that run is played, and nothing else."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from sandbox.endpoint.callback_listener import MAX_CALLERS
from sandbox.endpoint.callbacks import Callbacks
from sandbox.errors import Lost, Malformed, Unavailable

from ...patience import PATIENCE, until
from ...smuggling import REFUSED, spoken
from ..processes import first_of
from .conftest import stand_in

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def listening():
    """Listen for callbacks on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Callbacks(f"127.0.0.1:{port}", "https://bench.example.org/cb") as made:
        made.port = port
        yield made


@pytest.fixture(scope="module")
def callbacks():
    """Return a listener that all tests share."""
    with listening() as made:
        yield made


@pytest.fixture
def mortal_callbacks():
    """Return a listener of a test's own, which it may stop."""
    with listening() as made:
        yield made


def call(callbacks, path, body=b"", method="POST", **headers):
    """Send one request, and give the status, the headers and the body of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", callbacks.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_a_request_is_made_anew_for_the_gateway(callbacks, tmp_path):
    with stand_in(tmp_path) as heard:
        token, url = callbacks.admit(tmp_path)
        assert url == f"https://bench.example.org/cb/run/{token}"
        fields = {
            "Accept": "a/b",
            "Mcp_Method": "tools/call",
            "X_Forwarded_For": "1.2.3.4",
            "Cookie": "c",
            "Origin": "o",
        }
        status, back, body = call(callbacks, f"/any/prefix/run/{token}/mcp?q=1", b"{}", Host="evil", **fields)
    assert (status, body) == (200, b"{}")
    assert back == {"content-type": "text/x", "mcp-session-id": "s", "content-length": "2", "connection": "close"}
    [(seen, inner)] = heard.requests
    assert inner == b"{}"
    assert {name.lower(): value for name, value in seen.items()} == {
        ":": "POST /mcp", "host": "127.0.0.1:8700", "connection": "close", "content-length": "2", "accept": "a/b",
        "mcp-method": "tools/call",
    }  # fmt: skip


def test_every_other_way_says_the_same_and_hears_no_body(callbacks, tmp_path):
    with stand_in(tmp_path) as heard:
        token, _ = callbacks.admit(tmp_path)
        ended, _ = callbacks.admit(tmp_path)
        callbacks.forget(ended)
        other = token[:-1] + ("A" if token[-1] != "A" else "B")
        paths = [
            f"/run/{ended}/mcp", f"/run/{other}/mcp", f"/run/{token.lower()}x/mcp", f"/run/{token[:-1]}/mcp",
            f"/run/{token}/solution", f"/run/{token}/task/", f"/run/{token}/mcp/../solution", f"/run/{token}/",
            f"/run/{token}", f"/run/{token}/%6dcp", f"/RUN/{token}/mcp", "/run//mcp", "/", "/task", f"/{token}/mcp",
        ]  # fmt: skip
        said = {str(call(callbacks, path, b"x" * 100)) for path in paths}
        said |= {str(call(callbacks, f"/run/{token}/mcp", b"x", method=name)) for name in ("PUT", "TRACE", "OPTIONS")}
        assert len(said) == 1
        assert "404" in said.pop()
        assert heard.requests == []


def test_a_token_opens_its_own_run_and_no_other(callbacks, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with stand_in(folders[0]) as one, stand_in(folders[1]) as two:
        tokens = [callbacks.admit(folder)[0] for folder in folders]
        assert call(callbacks, f"/run/{tokens[1]}/answer", b"second")[0] == 200
        callbacks.forget(tokens[1])
        assert call(callbacks, f"/run/{tokens[1]}/answer", b"replayed")[0] == 404
        assert call(callbacks, f"/run/{tokens[0]}/answer", b"first")[0] == 200
        assert REFUSED.fullmatch(spoken(f"http://127.0.0.1:{callbacks.port}"))
    assert [body for _, body in one.requests] == [b"first"]
    assert [body for _, body in two.requests] == [b"second"]


def test_connections_to_a_run_that_ends_are_cut_off(callbacks, tmp_path):
    entered, leave, said = threading.Event(), threading.Event(), []

    def hold(handler, _):
        entered.set()
        leave.wait(PATIENCE)
        handler.connection.close()

    with stand_in(tmp_path, hold):
        token, _ = callbacks.admit(tmp_path)
        caller = threading.Thread(target=lambda: said.append(call(callbacks, f"/run/{token}/mcp", b"{}")[0]))
        caller.start()
        assert entered.wait(PATIENCE)
        callbacks.forget(token)
        caller.join(PATIENCE)  # the gateway still holds its end
        assert said == [404]
        leave.set()


def test_a_body_that_outlives_its_run_reaches_nobody(callbacks, tmp_path):
    with stand_in(tmp_path) as heard:
        token, _ = callbacks.admit(tmp_path)
        with socket.create_connection(("127.0.0.1", callbacks.port), timeout=PATIENCE) as raw:
            raw.sendall(f"POST /run/{token}/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab".encode())
            callbacks.forget(token)
            raw.sendall(b"cd")
            assert raw.recv(65536).startswith(b"HTTP/1.1 404 ")
    assert heard.requests == []


def test_a_gateway_that_is_gone_is_said_to_be(callbacks, tmp_path):
    with stand_in(tmp_path):
        token, _ = callbacks.admit(tmp_path)
    assert call(callbacks, f"/run/{token}/mcp", b"{}")[0] == 502


def test_bodies_are_capped_at_any_announced_length(callbacks, tmp_path):
    with stand_in(tmp_path) as heard:
        token, _ = callbacks.admit(tmp_path)
        assert call(callbacks, f"/run/{token}/mcp", b"x" * (1024 * 1024))[0] == 200
        assert call(callbacks, f"/run/{token}/mcp", b"x" * (1024 * 1024 + 1))[0] == 400
        assert call(callbacks, f"/run/{token}/answer", b"x" * (1024 * 1024 + 1))[0] == 413
        assert call(callbacks, f"/run/{token}/mcp", iter([b"a", b"b"]))[2] == b"ab"
    assert [len(body) for _, body in heard.requests] == [1024 * 1024, 2]


def test_a_request_that_is_too_long_is_refused_under_its_id(callbacks, tmp_path):
    beginning, end = b'{"method": "tools/call", "params": {"x": "', b'"}, "jsonrpc": "2.0", "id": "seven"}'
    padded = beginning + b"x" * (1024 * 1024) + end
    with stand_in(tmp_path) as heard:
        token, _ = callbacks.admit(tmp_path)
        for path in ("mcp", "mcp/"):
            status, headers, body = call(callbacks, f"/run/{token}/{path}", padded)
            assert (status, headers["content-type"]) == (200, "application/json")
            assert json.loads(body)["id"] == "seven"
            assert "longer than 1048576 bytes" in json.loads(body)["error"]["message"]
    assert heard.requests == []


def test_a_reply_without_end_is_cut(callbacks, tmp_path):
    def flood(handler, _):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            handler.wfile.write(b"x" * 65536)

    with stand_in(tmp_path, flood):
        token, _ = callbacks.admit(tmp_path)
        assert call(callbacks, f"/run/{token}/mcp", b"{}")[0] == 502


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Content-Length: 4\r\nContent-Length: 40",
        b"Transfer-Encoding: chunked, identity",
        b"Content-Length: -1",
        b"X: a\r\n b\0",
    ],
)
def test_no_second_request_is_smuggled_behind_a_first(callbacks, tmp_path, head):
    with stand_in(tmp_path) as heard:
        token, _ = callbacks.admit(tmp_path)
        hidden = b"GET /solution HTTP/1.1\r\nHost: 127.0.0.1:8700\r\n\r\n"
        with socket.create_connection(("127.0.0.1", callbacks.port), timeout=PATIENCE) as raw:
            line = f"POST /run/{token}/mcp HTTP/1.1\r\nHost: x\r\n".encode()
            raw.sendall(line + head + b"\r\n\r\n0\r\n\r\n" + hidden)
            while raw.recv(65536):
                pass
    assert all(seen[":"] == "POST /mcp" for seen, _ in heard.requests)
    assert len(heard.requests) <= 1


def test_it_listens_as_nobody_and_ends_with_its_runner(mortal_callbacks, tmp_path):
    callbacks = mortal_callbacks
    status = Path(f"/proc/{first_of(callbacks._process)}/status").read_text()
    if os.geteuid() == 0:
        assert "Uid:\t65531\t65531\t65531\t65531" in status
    assert "NoNewPrivs:\t1" in status
    token, _ = callbacks.admit(tmp_path)
    assert callbacks.alive(token)
    callbacks.close()
    callbacks.close()
    assert not callbacks.alive(token)
    with pytest.raises(Lost):
        callbacks.admit(tmp_path)
    with pytest.raises((ConnectionRefusedError, ConnectionResetError)):
        call(callbacks, "/")


def test_its_death_is_known_to_its_runs_and_the_next_run_finds_it_up_again(mortal_callbacks, tmp_path):
    callbacks = mortal_callbacks
    with stand_in(tmp_path) as heard:
        lost, _ = callbacks.admit(tmp_path)
        os.kill(first_of(callbacks._process), signal.SIGKILL)
        until(lambda: not callbacks.alive(lost), "its death")
        with pytest.raises(Lost, match="gone"):
            callbacks.forget(lost)
        token, _ = callbacks.admit(tmp_path)
        assert (callbacks.alive(token), callbacks.alive(lost)) == (True, False)
        assert call(callbacks, f"/run/{lost}/mcp", b"{}")[0] == 404, "its run is over, whoever listens now"
        assert call(callbacks, f"/run/{token}/mcp", b"{}")[0] == 200
        callbacks.forget(lost)
    assert len(heard.requests) == 1


def test_silent_connections_keep_nobody_out(callbacks, tmp_path):
    held = []
    with stand_in(tmp_path), contextlib.ExitStack() as stack:
        token, _ = callbacks.admit(tmp_path)
        for _ in range(5):
            for _ in range(MAX_CALLERS + 20):
                held.append(
                    stack.enter_context(socket.create_connection(("127.0.0.1", callbacks.port), timeout=PATIENCE))
                )
                held[-1].sendall(b"P")
            assert call(callbacks, f"/run/{token}/mcp", b"{}")[0] == 200
        assert held[0].recv(1) == b"", "who was silent longest had to go"
        assert callbacks.alive(token)


def test_silent_connections_are_cut_off(callbacks):
    with socket.create_connection(("127.0.0.1", callbacks.port), timeout=PATIENCE) as silent:
        silent.sendall(b"POST /run/")
        assert silent.recv(1) == b""


def test_a_process_that_stands_still_holds_nobody_up(mortal_callbacks, tmp_path, monkeypatch):
    callbacks = mortal_callbacks
    token, _ = callbacks.admit(tmp_path)
    monkeypatch.setattr("sandbox.endpoint.callbacks.LISTENER_TIMEOUT_SECONDS", 0.1)
    os.kill(first_of(callbacks._process), signal.SIGSTOP)
    with pytest.raises(Lost, match="does not answer"):
        callbacks.forget(token)
    assert callbacks._process.wait(PATIENCE) == -signal.SIGKILL, "whoever had the token would go on once it wakes"


def test_the_listening_address_must_be_valid_and_free(callbacks):
    for place in ("8701", "127.0.0.1", "127.0.0.1:x", ":8701", "127.0.0.1:65536"):
        with pytest.raises(Malformed, match="ADDRESS:PORT"):
            Callbacks(place, "https://x")
    for place in (f"127.0.0.1:{callbacks.port}", "192.0.2.7:8701"):
        with pytest.raises(Unavailable, match="choose another"):
            Callbacks(place, "https://x")


def test_tokens_cannot_be_guessed(callbacks, tmp_path):
    tokens = {callbacks.admit(tmp_path)[0] for _ in range(20)}
    assert len(tokens) == 20
    assert {len(token) for token in tokens} == {43}
