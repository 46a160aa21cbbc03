"""Agent with mcp-use, and the run's language model."""

import asyncio

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient
from protocol import URL, answer, get_task


async def work(task: dict) -> str:
    """Let the model work on the task, and return its last words."""
    client = MCPClient({"mcpServers": {"task": {"url": f"{URL}/mcp"}}})
    model = ChatOpenAI(model=task["model"]["models"][0], base_url=f"{URL}/v1", api_key="none")
    return await MCPAgent(llm=model, client=client, max_steps=task["max_steps"]).run(task["goal"])


answer(asyncio.run(work(get_task())))
