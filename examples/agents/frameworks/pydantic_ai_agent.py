"""Agent with Pydantic AI, and the run's language model."""

from protocol import URL, answer, get_task
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

task = get_task()
model = OpenAIChatModel(task["model"]["models"][0], provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="none"))
agent = Agent(model, toolsets=[MCPToolset(f"{URL}/mcp")], instructions="Do it with the tools; answer shortly.")
answer(agent.run_sync(task["goal"]).output)
