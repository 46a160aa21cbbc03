"""Agent with smolagents, and the run's language model."""

from protocol import URL, answer, get_task
from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

task = get_task()
required = {tool["name"]: tool["inputSchema"].get("required", ()) for tool in task["tools"]}
model = OpenAIServerModel(task["model"]["models"][0], api_base=f"{URL}/v1", api_key="none")
with MCPClient({"url": f"{URL}/mcp", "transport": "streamable-http"}, structured_output=False) as tools:
    for tool in tools:  # its MCP adapter drops `required`, and takes what has no single type for text
        for name, schema in tool.inputs.items():
            schema["nullable"] = name not in required[tool.name]
            schema["type"] = "any" if "anyOf" in schema else schema["type"]
    answer(str(ToolCallingAgent(tools, model, max_steps=task["max_steps"]).run(task["goal"])))
