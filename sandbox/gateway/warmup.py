"""Warm-up session, played once before any gateway is forked: loads every module that a session may need.

A gateway gives up its user, and with it maybe the right to read the interpreter's own files: a module that is first
needed in the middle of a session could not be loaded then. Playing every kind of request here loads them all, and what
is loaded and compiled once is there in every gateway.
"""

from __future__ import annotations

import asyncio
import json
import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio

from sandbox.boxes.box import PORT
from sandbox.gateway.app import App
from sandbox.gateway.listener import protocol
from sandbox.gateway.log_protocol import GatewayLog, pack
from sandbox.gateway.session import AgentSession
from sandbox.gateway.spec import GatewaySpec, listing
from sandbox.gateway.upstream import WorldServers
from sandbox.world import frames

SECONDS = 10.0
_TOOL = "filesystem__list_allowed_directories"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "warm-up", "version": "1"}}
_MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


async def warm_up() -> None:
    """Play it; whatever fails here shows itself in a real session."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        async with asyncio.timeout(SECONDS):
            await _play()


async def _play() -> None:
    ours, worlds = socket.socketpair()
    spec = GatewaySpec("r", "", listing(["filesystem.list_allowed_directories"]), ("filesystem", "git"), 4)
    spec = GatewaySpec.from_bytes(spec.to_bytes())
    book = GatewayLog()

    def emit(entry: Mapping[str, Any]) -> None:
        book.feed(pack(entry))

    upstream = WorldServers(spec.servers, ours, emit)
    session = AgentSession(spec, upstream, emit)
    app = App(session)
    async with app.running(), anyio.create_task_group() as group:
        group.start_soon(upstream.run)
        group.start_soon(_answer_as_server, worlds)
        make = protocol(app)
        for request in _requests():
            await exchange(make, request)
        group.cancel_scope.cancel()


def _requests() -> list[bytes]:
    """Return every kind of request, good and bad ones, as the bytes of a connection."""
    call = {"name": _TOOL, "arguments": {}}
    rpc = [
        ("initialize", _HELLO, {}),
        ("tools/list", {}, {}),
        ("tools/call", call, {}),
        ("tools/call", {"name": "\u202e", "arguments": {"a": 1.5}}, {}),
        ("tools/call", {"name": 1}, {}),
        ("no/such", {}, {}),
        ("server/discover", _MODERN, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}),
        (
            "tools/call",
            {**call, **_MODERN},
            {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": _TOOL},
        ),
    ]
    posts = [({"jsonrpc": "2.0", "id": 1, "method": name, "params": params}, extra) for name, params, extra in rpc]
    posts.append(({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}))
    return [
        b"nonsense\r\n\r\n",
        _http("GET", "/task", b""),
        _http("GET", "/nothing", b""),
        _http("GET", "/mcp", b""),
        *(_http("POST", "/mcp", json.dumps(message).encode(), extra) for message, extra in posts),
        _http("POST", "/mcp", b"{"),
        _http("POST", "/mcp", b"[" * 2000),
        _http("POST", "/shortlist", b"{}"),
        _http("POST", "/answer", b"\xff"),
        _http("POST", "/answer", b'{"answer": "\\u00e9"}'),
    ]


def _http(method: str, path: str, body: bytes, extra: Mapping[str, str] | None = None) -> bytes:
    headers = {
        "Host": f"localhost:{PORT}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **(extra or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def exchange(make: Callable[[], asyncio.Protocol], request: bytes) -> bytes:
    """Send one request over a connection of its own, and read until its end; a refusal may come before all is sent."""
    near, far = socket.socketpair()
    loop = asyncio.get_running_loop()
    near.settimeout(0)
    await loop.connect_accepted_socket(make, far)
    answer = b""
    with near:
        with suppress(OSError):
            await loop.sock_sendall(near, request)
        with suppress(OSError):
            while data := await loop.sock_recv(near, 65536):
                answer += data
    return answer


async def _answer_as_server(worlds: socket.socket) -> None:
    """Be the first server of a world: answer each request with something of its form. The second one ends at once."""
    reader, writer = await asyncio.open_connection(sock=worlds)
    writer.write(frames.pack(2, b""))
    cutter = frames.FrameReader()
    try:
        while data := await reader.read(65536):
            for channel, payload in cutter.feed(data):
                message = json.loads(payload) if channel == 1 else {}
                if "id" in message:
                    writer.write(frames.pack(1, _reply(message)))
                    await writer.drain()
    finally:
        writer.close()


def _reply(message: Mapping[str, Any]) -> bytes:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": _HELLO["clientInfo"]}
    result = {"content": [{"type": "text", "text": "\U0001f600"}]}
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": hello if message["method"] == "initialize" else result}
    return json.dumps(reply).encode() + b"\n"
