"""The rulebook: a small honest agent. It reads the goal, looks with the tools, and acts by a handful of rules.

The whole protocol is in here:

1. `GET  $QUARTERTURN_URL/task`    the goal, the tools, how many calls are allowed
2. MCP  `$QUARTERTURN_URL/mcp`     the tools, through any MCP client that speaks streamable HTTP
3. `POST $QUARTERTURN_URL/answer`  `{"answer": "text"}` if the goal asks for one; it ends the session
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import databases
import files
import repositories
from rulebook import Stuck, find

if TYPE_CHECKING:
    from mcp.client import Client

URL = os.environ.get("QUARTERTURN_URL", "http://127.0.0.1:8700")
RULES = (files, repositories, databases)  # to import them is what adds their rules


class Tools:
    """The task's tools. Asks again once where a tool answers with an error, and then gives up.

    Args:
        client: an MCP client that is connected.
        task: what `GET /task` gave.
    """

    def __init__(self, client: Client, task: dict[str, Any]) -> None:
        self.client = client
        self.names = {tool["name"] for tool in task["tools"]}
        self.left = int(task["max_steps"])

    async def __call__(self, name: str, **arguments: Any) -> str:
        """Call a tool and give the text of its result."""
        if name not in self.names:
            raise Stuck(f"there is no tool {name} for this")
        text = ""
        for _ in range(2):
            if not self.left:
                raise Stuck("no steps are left")
            self.left -= 1
            result = await self.client.call_tool(name, arguments)
            text = "\n".join(block.text for block in result.content if block.type == "text")
            if not result.is_error:
                return text
        raise Stuck(f"{name} failed twice: {text}")


async def work(task: dict[str, Any]) -> str | None:
    """Work on a task, and give the answer if there is one to give."""
    act, arguments = find(task["goal"])
    from mcp.client import Client  # noqa: PLC0415 - half a second, for nothing where no rule is about the goal

    async with Client(f"{URL}/mcp") as client:
        try:
            return await act(Tools(client, task), **arguments)
        except Stuck as reason:
            stuck = reason
    raise stuck


def main() -> None:
    """Get the task, work on it, and answer."""
    with urllib.request.urlopen(f"{URL}/task") as response:  # noqa: S310 - the address is the runner's own
        task = json.load(response)
    try:
        answer = asyncio.run(work(task))
    except Stuck as reason:
        sys.stderr.write(f"stuck: {reason}\n")  # and end with 0: giving up is no crash
        return
    if answer is not None:
        body = json.dumps({"answer": answer}).encode()
        request = urllib.request.Request(f"{URL}/answer", body, {"Content-Type": "application/json"})  # noqa: S310
        urllib.request.urlopen(request).close()  # noqa: S310


if __name__ == "__main__":
    main()
