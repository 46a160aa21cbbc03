"""Attacks with JSON: too large, too deep, or ambiguous."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from quarterturn_attacks.agents.raw_client import post, request, send, solving, status

MIB = 1 << 20
SOLVING = solving().decode()[:-1]  # without its last brace, so that something can follow
ANSWER = '{"answer": "10"'


def both(tail: str) -> dict[str, Any]:
    """Send a call and an answer that would be right but for what follows in them.

    A call whose id can be read is refused by a JSON-RPC error, under status 200. Where more was sent than is read, the
    connection's reset can swallow that error: a head without a body carries no result.
    """
    called = send(request("POST", "/mcp", (SOLVING + tail).encode("latin-1")))
    _, _, body = called.partition(b"\r\n\r\n")
    refused = 400 if b'"error"' in body else status(called) if body else 0
    return {"statuses": [refused, post("/answer", (ANSWER + tail).encode("latin-1"))]}


def utf_8() -> dict[str, Any]:
    """Send bytes that are no valid UTF-8, where a lenient parser would replace them."""
    return both(', "x": "\xff\xfe"}')


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "json-huge": partial(both, f', "x": "{"x" * 8 * MIB}"}}'),
    "json-deep": partial(both, ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "json-million-values": partial(both, ', "x": [' + "0," * (MIB // 2 - 1000) + "0]}"),
    "json-nan": partial(both, ', "x": NaN}'),
    "json-infinity": partial(both, ', "x": 1e999}'),
    "json-long-number": partial(both, f', "x": {"9" * 4000}}}'),
    "json-two-keys": partial(both, ', "jsonrpc": "2.0", "answer": "10"}'),
    "json-half-surrogate": partial(both, ', "x": "\\ud800"}'),
    "json-not-utf-8": utf_8,
}
