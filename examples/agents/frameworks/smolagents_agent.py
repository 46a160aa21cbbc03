"""Agent with smolagents, and the run's language model."""

from protocol import URL, answer, get_task
from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

task = get_task()
model = OpenAIServerModel(task["model"]["models"][0], api_base=f"{URL}/v1", api_key="none")
with MCPClient({"url": f"{URL}/mcp", "transport": "streamable-http"}, structured_output=False) as tools:
    said = ToolCallingAgent(tools, model, max_steps=task["max_steps"]).run(task["goal"])
answer(str(said))
