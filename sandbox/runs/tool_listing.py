"""Lists the tools of a server by starting it in a box, on an empty state and with no network."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Mapping
from typing import Any

import anyio

from sandbox.boxes.box import Box, ResourceLimits, World
from sandbox.boxes.output import printable
from sandbox.errors import Unavailable
from sandbox.gateway.upstream import WorldServers
from sandbox.servers.server import Server
from sandbox.servings.state_reader import in_data
from sandbox.world.channel import Exit

SECONDS = 60.0
"""How long a server has to come up and list its tools."""
EXIT_SECONDS = 2.0
"""How long after its streams a server's end is waited for."""
SHOWN = 300
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*:.*")


def listed(box: Box, server: Server, *, limits: ResourceLimits | None = None) -> dict[str, dict[str, Any]]:
    """Start a server in a fresh world and ask for its tools: name -> description, input schema, and output schema
    if it has one.

    Raises:
        Unavailable: the box cannot be had, or the server does not come up or does not answer in time; the message has
            its exit code and the last that it wrote on standard error.
    """
    world = box.world([server], in_data(server, server.seed({})), limits or ResourceLimits())
    try:
        started = time.monotonic()
        tools, stray = asyncio.run(_asked(world.channel(), server.name))
        if tools is None:
            raise Unavailable(_failure(server, _exit(world, patient=time.monotonic() - started < SECONDS), stray))
    finally:
        world.close()
    return {
        str(tool["name"]): {
            "description": tool.get("description") or "",
            **{key: tool[key] for key in ("inputSchema", "outputSchema") if key in tool},
        }
        for tool in tools
    }


def said_last(stderr: str) -> str:
    """Return the line of an error on standard error, or its last line; frames of the stack around it are left out."""
    lines = [line.strip() for line in printable(stderr.encode()).splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or [""])[-1][:SHOWN]


def _exit(world: World, *, patient: bool) -> Exit | None:
    """Return how the server ended, if it did; the word of it may come a little after the end of its output."""
    deadline = time.monotonic() + EXIT_SECONDS
    while patient and not world.exits and time.monotonic() < deadline:
        time.sleep(0.02)
    return next(iter(world.exits), None)


def _failure(server: Server, ended: Exit | None, stray: bytes) -> str:
    words = " ".join(server.command)
    line = printable(stray).strip()
    wrote = f"; its standard output has lines that are not MCP, first '{line}'" if line else ""
    if ended is None:
        return (
            f"the server {server.name} did not list its tools within {SECONDS:.0f} s{wrote}; its command is `{words}`: "
            "it must start without a network and without an initial state, and write nothing but MCP on its standard "
            "output"
        )
    last = said_last(ended.stderr)
    return (
        f"the server {server.name} ended with code {ended.code} before it listed its tools, "
        f"{f'and said last: {last}' if last else 'and said nothing on standard error'}{wrote}; its command is "
        f"`{words}`, which is started in its own folder without an initial state: mend command or environment in its "
        "manifest, or pin what it needs in a constraints.txt beside it"
    )


async def _asked(channel: socket.socket, name: str) -> tuple[list[Mapping[str, Any]] | None, bytes]:
    """Return a server's tools, or None, and how the first line of its output begins that is no message."""
    channel.settimeout(0)
    servers = WorldServers([name], channel, lambda _entry: None, SECONDS)
    tools = None
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        tools = await servers.tools(name)
        group.cancel_scope.cancel()
    return tools, servers.stray(name)
