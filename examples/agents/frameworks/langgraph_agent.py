"""Agent with LangGraph through LangChain's adapters, and the run's language model."""

import asyncio

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from protocol import URL, answer, get_task


async def work(task: dict) -> str:
    """Let the model work on the task, and return its last words."""
    client = MultiServerMCPClient({"task": {"url": f"{URL}/mcp", "transport": "streamable_http"}})
    model = ChatOpenAI(model=task["model"]["models"][0], base_url=f"{URL}/v1", api_key="none")
    agent = create_agent(model, await client.get_tools())
    done = await agent.ainvoke({"messages": [("user", task["goal"])]})
    return done["messages"][-1].content


answer(asyncio.run(work(get_task())))
