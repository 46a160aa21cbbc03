"""Specification of a gateway's session: the part of one task that its agent may see, and nothing else.

No identifier, predicate, initial state or key is in it. It is handed over in memory (`sandbox.gateway.process`), never
in arguments, variables or files, because a goal is as secret as its task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.servers.registry import SERVERS, wire_name
from sandbox.transcript import ToolCall

CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class GatewaySpec:
    """One session.

    Attributes:
        alias: the per-run name that the agent is shown.
        goal: what the agent is told to do.
        tools: the listed tools as the agent sees them: `{"name", "description", "inputSchema"}` and where there is
            one `"outputSchema"`, with names as on the wire; `listing` makes them from a document's names.
        servers: the servers that run in the world, in the order of their channels.
        server: the server that the task is about, which comes up when the agent begins to speak MCP; empty for none.
        max_steps: how many tool calls are allowed, unlisted ones too.
        faults: the scheduled errors as in the document: `{"tool": "server.tool", "call": 1, "error": "text"}`.
        wall: seconds that the session may last after its first request.
        call_seconds: seconds that a server has for one call, and to come up.
        solution: `{"calls", "answer"}` that GET /solution gives; for the reference agent only.
        script: calls to play in place of listening: a reference solution, or none at all to wake the servers.
        script_answer: the answer to give after them.
        model: `{"wire", "models"}` of the upstream that the agent may ask, or None where it may ask none.
    """

    alias: str
    goal: str = field(repr=False)
    tools: Sequence[Mapping[str, Any]] = field(repr=False)
    servers: Sequence[str]
    max_steps: int
    faults: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    wall: float = 120.0
    call_seconds: float = CALL_SECONDS
    solution: Mapping[str, Any] | None = field(default=None, repr=False)
    script: Sequence[ToolCall] | None = field(default=None, repr=False)
    script_answer: str | None = field(default=None, repr=False)
    model: Mapping[str, Any] | None = None
    server: str = ""

    def to_bytes(self) -> bytes:
        """Write it as JSON."""
        document = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(document, default=_plain).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> GatewaySpec:
        """Read what `to_bytes` wrote."""
        document = json.loads(data)
        if document["script"] is not None:
            document["script"] = [ToolCall(**call) for call in document["script"]]
        return cls(**document)


def listing(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return the recorded descriptions of these tools (`server.tool`), as an agent sees them."""
    split = [(tool, *tool.split(".", 1)) for tool in tools]
    return [{"name": wire_name(tool), **SERVERS[server].tools[name]} for tool, server, name in split]


def _plain(value: Any) -> Any:
    if isinstance(value, ToolCall):
        return {"tool": value.tool, "arguments": dict(value.arguments)}
    return dict(value) if isinstance(value, Mapping) else list(value)
