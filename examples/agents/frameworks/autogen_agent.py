"""Agent with AutoGen, and the run's language model."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams
from protocol import URL, answer, get_task

INFO = {"family": "unknown"} | dict.fromkeys(("vision", "function_calling", "json_output", "structured_output"), True)


async def work(task: dict) -> str:
    """Let the model work on the task, and return its last words."""
    name = task["model"]["models"][0]
    model = OpenAIChatCompletionClient(model=name, base_url=f"{URL}/v1", api_key="none", model_info=INFO)
    async with McpWorkbench(StreamableHttpServerParams(url=f"{URL}/mcp")) as tools:
        agent = AssistantAgent("agent", model, workbench=tools, max_tool_iterations=task["max_steps"])
        return (await agent.run(task=task["goal"])).messages[-1].content


answer(asyncio.run(work(get_task())))
