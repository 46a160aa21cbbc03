"""An agent with a language model: it shows the model the goal and the tools, makes the calls it asks for, and answers.

The model is reached at $QUARTERTURN_URL, as at a provider: the official clients work unchanged, and no key is needed.
`GET /task` says which wire format the operator's upstream speaks and which models may be asked for:

    "model": {"wire": "openai", "models": ["small", "large"]}
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from typing import Any

from mcp.client import Client

URL = os.environ.get("QUARTERTURN_URL", "http://127.0.0.1:8700")
TOLD = (
    "Do what the user asks with the tools; there is nobody to ask back. A tool that fails may work when it is called "
    "again. When it is done, reply with the answer alone, as short as it can be, or with OK if there is none to give."
)
ANSWER_TOKENS = 2048


class OpenAIModel:
    """A conversation in the format of chat completions."""

    def __init__(self, model: str, tools: list[dict[str, Any]]) -> None:
        from openai import OpenAI  # noqa: PLC0415 - half a second, for one of two

        self.client = OpenAI(base_url=f"{URL}/v1", api_key="none")
        self.model = model
        self.tools = [
            {
                "type": "function",
                "function": {"name": t["name"], "description": t["description"], "parameters": t["inputSchema"]},
            }
            for t in tools
        ]
        self.messages: list[Any] = [{"role": "system", "content": TOLD}]

    def say(self, text: str) -> None:
        """Add what the user says."""
        self.messages.append({"role": "user", "content": text})

    def think(self) -> tuple[str, list[tuple[str, str, Any]]]:
        """Return what the model says, and the calls that it wants: an id, a name and arguments."""
        done = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=self.tools, max_completion_tokens=ANSWER_TOKENS
        )
        message = done.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True))
        calls = [
            (call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()
        ]
        return message.content or "", calls

    def tell(self, results: list[tuple[str, str, bool]]) -> None:
        """Add what the calls gave."""
        for ident, text, _ in results:
            self.messages.append({"role": "tool", "tool_call_id": ident, "content": text})


class AnthropicModel:
    """A conversation in the format of messages."""

    def __init__(self, model: str, tools: list[dict[str, Any]]) -> None:
        from anthropic import Anthropic  # noqa: PLC0415 - half a second, for one of two

        self.client = Anthropic(base_url=URL, api_key="none")
        self.model = model
        self.tools = [
            {"name": t["name"], "description": t["description"], "input_schema": t["inputSchema"]} for t in tools
        ]
        self.messages: list[Any] = []

    def say(self, text: str) -> None:
        """Add what the user says."""
        self.messages.append({"role": "user", "content": text})

    def think(self) -> tuple[str, list[tuple[str, str, Any]]]:
        """Return what the model says, and the calls that it wants: an id, a name and arguments."""
        message = self.client.messages.create(
            model=self.model, system=TOLD, messages=self.messages, tools=self.tools, max_tokens=ANSWER_TOKENS
        )
        self.messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
        text = "".join(block.text for block in message.content if block.type == "text")
        return text, [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]

    def tell(self, results: list[tuple[str, str, bool]]) -> None:
        """Add what the calls gave."""
        blocks = [
            {"type": "tool_result", "tool_use_id": ident, "content": text, "is_error": failed}
            for ident, text, failed in results
        ]
        self.messages.append({"role": "user", "content": blocks})


MODELS = {"openai": OpenAIModel, "anthropic": AnthropicModel}


async def work(task: dict[str, Any]) -> str:
    """Let the model work on a task until it wants no more calls or repeats itself, and give the last thing it said."""
    settings = task["model"]
    model = MODELS[settings["wire"]](settings["models"][0], task["tools"])
    model.say(task["goal"])
    left = int(task["max_steps"])
    before: tuple[Any, Any] = (None, None)  # the calls of the last step and what they gave
    async with Client(f"{URL}/mcp") as client:
        while True:
            text, calls = model.think()
            if not calls or left < len(calls):
                return text
            left -= len(calls)
            results: list[tuple[str, str, bool]] = []
            for ident, name, arguments in calls:
                result = await client.call_tool(name, arguments)
                rendered = "\n".join(block.text for block in result.content if block.type == "text")
                results.append((ident, rendered, bool(result.is_error)))
            now = [call[1:] for call in calls], [result[1:] for result in results]
            if now == before:  # a small model may repeat a call until its time is over
                return text
            before = now
            model.tell(results)


def main() -> None:
    """Get the task, work on it, and answer."""
    with urllib.request.urlopen(f"{URL}/task") as response:  # noqa: S310 - the address is the runner's own
        task = json.load(response)
    if "model" not in task:
        sys.exit("there is no model in this run")
    answer = asyncio.run(work(task))
    body = json.dumps({"answer": answer}).encode()
    request = urllib.request.Request(f"{URL}/answer", body, {"Content-Type": "application/json"})  # noqa: S310
    urllib.request.urlopen(request).close()  # noqa: S310


if __name__ == "__main__":
    main()
