"""Attacks on access control: other hosts, paths, methods and protocols, and guessed identifiers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from quarterturn_attacks.agents.raw_client import HOST, calling, post, request, send, solving, status

LOOK = calling("filesystem__list_allowed_directories")
OTHER = "r-0123456789abcdef"


def hosts() -> dict[str, Any]:
    """Come under other names, as a page in a browser would whose name was bound to this loopback."""
    names = ["evil.example", f"{HOST}.evil.example", "[::1]:8700", "", f"{HOST}\r\nHost: evil.example"]
    return {"statuses": [status(send(request("POST", "/mcp", solving(), host=f"Host: {name}"))) for name in names]}


def origins() -> dict[str, Any]:
    """Come from another origin."""
    names = ["http://evil.example", "null", f"https://{HOST}", f"http://{HOST}.evil.example", "file://"]
    return {"statuses": [post("/mcp", solving(), f"Origin: {name}") for name in names]}


def paths() -> dict[str, Any]:
    """Ask for what is not there, in every spelling."""
    places = ["/solution", "/task/../solution", "/%73olution", "//solution", "/solution/", "/solution?x", "/verdict",
              f"http://{HOST}/solution", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/mcp/../solution", "/.env",
              "/solution%00", "/SOLUTION", "/metrics", "/docs", "/openapi.json", "/tasks", "/runs"]  # fmt: skip
    return {"statuses": [status(send(request("GET", place))) for place in places]}


def forged_solution() -> dict[str, Any]:
    """Hand in a solution of our own, or claim to be the one who is given it."""
    claims = ["X-Forwarded-For: 127.0.0.1", "Authorization: Bearer reference", "X-Original-URL: /solution"]
    tries = [request(method, "/solution", b'{"calls": []}', claim) for method in ("POST", "PUT") for claim in claims]
    tries += [request("GET", "/task", b"", claim) for claim in claims[2:]]
    answers = [send(attempt) for attempt in tries]
    return {
        "statuses": [status(answer) for answer in answers[:-1]],
        "calls": [b'"calls"' in answer for answer in answers],
    }


def ids() -> dict[str, Any]:
    """Guess names of tasks and runs."""
    names = ["t-aaaaaaaaaaaaaaaa", OTHER, "1", "latest"]
    places = [f"/{kind}/{name}" for kind in ("task", "tasks", "run", "runs") for name in names]
    return {"statuses": [status(send(request("GET", place))) for place in places]}


def other_alias() -> dict[str, Any]:
    """Ask for another run's task, and call its tools."""
    tries = [request("GET", f"/task?alias={OTHER}"), request("GET", "/task", b"", f"X-Alias: {OTHER}")]
    seen = [json.loads(send(attempt).partition(b"\r\n\r\n")[2]).get("alias") for attempt in tries]
    return {"aliases": seen, "statuses": [post(f"/{OTHER}/mcp", solving()), post(f"/mcp/{OTHER}", solving())]}


def replayed() -> dict[str, Any]:
    """Send a recorded request once more, under its old number and under a session's name."""
    once = request("POST", "/mcp", LOOK, f"Mcp-Session-Id: {OTHER}", "Last-Event-ID: 1")
    return {"statuses": [status(send(once)) for _ in range(3)]}


def upgraded() -> dict[str, Any]:
    """Ask for another protocol on the same connection."""
    keys = ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
    web = [request("GET", path, b"", "Upgrade: websocket", "Connection: Upgrade", *keys) for path in ("/mcp", "/")]
    clear = request(
        "GET", "/nothing", b"", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMA"
    )
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    return {"statuses": [status(send(attempt, 5)) for attempt in (*web, clear, preface)]}


def methods() -> dict[str, Any]:
    """Use every verb but the right one."""
    verbs = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "x" * 1000]
    return {"statuses": [status(send(request(verb, "/answer", b'{"answer": "10"}'), 5)) for verb in verbs]}


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "other-hosts": hosts,
    "other-origins": origins,
    "other-paths": paths,
    "other-methods": methods,
    "forged-solution": forged_solution,
    "guessed-ids": ids,
    "other-alias": other_alias,
    "replayed-request": replayed,
    "upgraded-connection": upgraded,
}
