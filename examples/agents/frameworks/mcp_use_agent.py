"""Agent with mcp-use, and the run's language model."""

import asyncio
from typing import Any

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient
from mcp_use.client.middleware import Middleware
from protocol import URL, answer, get_task


class OmitNulls(Middleware):
    """Removes the null that mcp-use sends for each optional argument left out by the model: servers refuse it."""

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        """Pass a call on without its nulls."""
        context.params.arguments = {
            name: value for name, value in context.params.arguments.items() if value is not None
        }
        return await call_next(context)


async def work(task: dict) -> str:
    """Let the model work on the task, and return its last words."""
    client = MCPClient({"mcpServers": {"task": {"url": f"{URL}/mcp"}}}, middleware=[OmitNulls()])
    model = ChatOpenAI(model=task["model"]["models"][0], base_url=f"{URL}/v1", api_key="none")
    return await MCPAgent(llm=model, client=client, max_steps=task["max_steps"]).run(task["goal"])


answer(asyncio.run(work(get_task())))
