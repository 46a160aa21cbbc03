"""Lists the tools of a server by starting it in a box, on an empty state and with no network."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import anyio

from sandbox.boxes.box import Box, ResourceLimits
from sandbox.errors import Unavailable
from sandbox.gateway.upstream import WorldServers
from sandbox.runs.state_reader import in_data
from sandbox.servers.server import Server

SECONDS = 60.0
"""How long a server has to come up and list its tools."""


def listed(box: Box, server: Server, *, limits: ResourceLimits | None = None) -> dict[str, dict[str, Any]]:
    """Start a server in a fresh world and ask for its tools: name -> description and input schema.

    Raises:
        Unavailable: the box cannot be had, or the server does not come up or does not answer in time.
    """
    world = box.world([server], in_data(server, server.seed({})), limits or ResourceLimits())
    try:
        tools = asyncio.run(_asked(world.channel(), server.name))
    finally:
        world.close()
    if tools is None:
        words = " ".join(server.command)
        raise Unavailable(
            f"the server {server.name} does not start and list its tools within {SECONDS:.0f} s; its command is "
            f"`{words}`: try it by hand with no network, and look at its manifest"
        )
    return {
        str(tool["name"]): {"description": tool.get("description") or "", "inputSchema": tool["inputSchema"]}
        for tool in tools
    }


async def _asked(channel: socket.socket, name: str) -> list[Mapping[str, Any]] | None:
    channel.settimeout(0)
    servers = WorldServers([name], channel, lambda _entry: None, SECONDS)
    tools = None
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        tools = await servers.tools(name)
        group.cancel_scope.cancel()
    return tools
