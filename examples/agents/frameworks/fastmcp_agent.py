"""Agent with FastMCP's client and no model: it calls a tool without required arguments, and answers its structure."""

import asyncio
import json

from fastmcp import Client
from protocol import URL, answer, get_task


async def work() -> str:
    """Call a tool that declares an output schema, and return its structured content as JSON."""
    async with Client(f"{URL}/mcp") as client:
        tools = [tool for tool in await client.list_tools() if not tool.inputSchema.get("required")]
        result = await client.call_tool(next(tool.name for tool in tools if tool.outputSchema), {})
        return json.dumps(result.structured_content)


get_task()
answer(asyncio.run(work()))
