"""Agent with the OpenAI Agents SDK, and the run's language model."""

import asyncio

from agents import Agent, AsyncOpenAI, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from protocol import URL, answer, get_task


async def work(task: dict) -> str:
    """Let the model work on the task, and return its last words."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key="none")
    model = OpenAIChatCompletionsModel(task["model"]["models"][0], client)
    async with MCPServerStreamableHttp({"url": f"{URL}/mcp"}) as server:
        agent = Agent("agent", model=model, mcp_servers=[server], instructions="Do it with the tools; answer shortly.")
        return (await Runner.run(agent, task["goal"], max_turns=task["max_steps"])).final_output


answer(asyncio.run(work(get_task())))
