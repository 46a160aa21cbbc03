"""Agent that uses the official client: MCP over HTTP in a box, over standard input and output in a bare pair."""

from __future__ import annotations

import asyncio
import sys
import time

from calls import CALLS, URL, end
from mcp.client import Client


def way():
    """Return the client's way to the server."""
    if URL:
        return f"{URL}/mcp"
    from mcp.server.stdio import stdio_server  # the same streams, whichever side of them one is on

    return stdio_server()


async def main() -> None:
    """Make the calls."""
    seconds = []
    async with Client(way(), mode="legacy") as client:
        for name, arguments in CALLS:
            start = time.perf_counter()
            result = await client.call_tool(name, arguments)
            seconds.append(time.perf_counter() - start)
            if result.is_error:
                sys.exit(f"{name} failed")
        end(seconds)


asyncio.run(main())
