"""Tests of the protocol under every HTTP server: requests that two readers could take differently, over connections."""

from __future__ import annotations

import asyncio
import re
import socket

import anyio
import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from sandbox.gateway.warmup import exchange
from sandbox.strict_http import MAX_FIELDS, StrictProtocol

from ..patience import PATIENCE

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


def protocol_of(app):
    """Return what makes the protocol of each connection to an application."""
    config = Config(app, http=StrictProtocol, ws="none", lifespan="off", log_config=None)
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    return lambda: StrictProtocol(config=config, server_state=state, app_state={}, _loop=loop)


def answered(request):
    """Return the statuses of what one connection was answered before it was closed, and the paths that were read."""
    paths = []

    async def takes_all(scope, receive, send):
        paths.append(scope["path"])
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def serve():
        with anyio.fail_after(PATIENCE):
            return await exchange(protocol_of(takes_all), request)

    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", asyncio.run(serve()))], paths


def post(*fields, body=b"", version="1.1", host="Host: x"):
    """Write a request with these fields, and another one behind it."""
    lines = [f"POST /first HTTP/{version}", *([host] if host else []), *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body + HIDDEN


@pytest.mark.parametrize(
    "request_",
    [
        post("Content-Length: 5", CHUNKED, body=b"0\r\n\r\n"),
        post(CHUNKED, "Content-Length: 5", body=b"0\r\n\r\n"),
        post("content-length: 0", "transfer-ENCODING: chunked", body=b"0\r\n\r\n"),
        post(CHUNKED, body=b"0\r\n\r\n", version="1.0"),
        *(
            post(f"Transfer-Encoding: {coding}", body=b"0\r\n\r\n")
            for coding in (
                *("identity", "chunked, gzip", "gzip, chunked"),
                *("chunked, chunked", "xchunked", "", "\vchunked"),
            )
        ),
        post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
        post("Content-Length: 2", "Content-Length: 3", body=b"ab"),
        *(post(f"Content-Length: {length}", body=b"ab") for length in ("+2", "-2", "1 0", "1_0", "", "0x2", "9" * 30)),
        *(post(CHUNKED, body=size + b"\r\nab\r\n0\r\n\r\n") for size in (b"zz", b"-2", b"0x2", b"+2", b"")),
        post(CHUNKED, body=b"2\r\nabXX0\r\n\r\n"),
        post("X: a\0b"),
        post("X: a\rb"),
        post("Content-Length : 2", body=b"ab"),
        post(host=None),
        post("Host: y"),
        post(version="2.0"),
        post(version="0.9"),
        post(*(f"X-{number}: a" for number in range(MAX_FIELDS))),
        b"POST /first\r\n\r\n" + HIDDEN,
        b"nonsense\r\n\r\n" + HIDDEN,
    ],
    ids=lambda request: ascii(request[13:80]),
)
def test_a_request_with_two_readings_gets_one_400_and_a_closed_connection(request_):
    statuses, paths = answered(request_)
    assert statuses == [400]
    assert paths in ([], ["/first"]), "what follows is never read"


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (post("Content-Length: 2", body=b"ab"), 2),
        (post("Content-Length: 2", "Content-Length: 2", body=b"ab"), 2),  # RFC 9112, section 6.3: may be taken as one
        (post(CHUNKED, body=b"2;a=b\r\nab\r\n0\r\nContent-Length: 9\r\n\r\n"), 2),
        (post("X: folded\r\n in two"), 2),
        (post().replace(b"\r\n", b"\n"), 2),  # section 2.2: may be taken
        (post("Connection: keep-alive", version="1.0"), 1),  # it is closed: this protocol ends with each answer
        (post("Connection: close"), 1),
    ],
    ids=lambda value: ascii(value[13:80]) if isinstance(value, bytes) else None,
)
def test_what_the_standard_allows_is_taken(request_, count):
    assert answered(request_) == ([200] * count, ["/first", "/hidden"][:count])


def test_a_request_that_breaks_after_its_answer_gets_no_second_one():
    async def answers_unread(_, __, send):
        await send({"type": "http.response.start", "status": 429, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def serve():
        loop, (near, far) = asyncio.get_running_loop(), socket.socketpair()
        loop.set_exception_handler(lambda _, context: broken.append(context))
        near.settimeout(0)
        await loop.connect_accepted_socket(protocol_of(answers_unread), far)
        with near, anyio.fail_after(PATIENCE):
            await loop.sock_sendall(near, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            answer = await loop.sock_recv(near, 65536)
            await loop.sock_sendall(near, b"zz\r\n" + HIDDEN)
            return answer.split()[1], await loop.sock_recv(near, 65536)

    broken = []
    assert (asyncio.run(serve()), broken) == ((b"429", b""), [])
