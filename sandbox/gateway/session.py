"""One agent's session with one task: counts, refuses, injects and logs calls. No network and no process in here.

Guarantees, in the order in which a call meets them:

1. Arguments beyond the caps are dropped at once: what waits in the queue is small.
2. After the end of the session nothing is passed on and nothing is counted.
3. Every other call is counted and logged before anything else happens to it, unlisted ones too; the one after
   `max_steps` ends the session.
4. A call to an unlisted tool, beyond the steps or beyond the caps is refused: it is answered with an error, no server
   sees it, and no fault's schedule counts it.
5. A scheduled fault is answered in the server's place.
6. Calls reach the servers one after the other, in the order of the log; one that was
   passed on is waited for, whatever the agent does meanwhile.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from sandbox.gateway.spec import GatewaySpec
from sandbox.servers.registry import document_name
from sandbox.transcript import Ended

MAX_ARGUMENTS = 256 * 1024
MAX_ALL_ARGUMENTS = 16 * 1024 * 1024  # of a whole session: the runner keeps them
MAX_DEPTH = 32
MAX_NAME = 128
MAX_RESULT = 512 * 1024
MAX_LOGGED = 16 * 1024
MAX_ANSWER = 64 * 1024


@dataclass(frozen=True, slots=True)
class ToolReply:
    """Reply to a tool call, as plain JSON values.

    Attributes:
        content: the MCP content blocks.
        is_error: whether they report an error.
        structured: the object that a tool with an output schema returns beside them (MCP 2025-06-18, Structured
            Content), or None.
    """

    content: list[dict[str, Any]] = field(repr=False)
    is_error: bool = False
    structured: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def error(cls, text: str) -> ToolReply:
        """Make an error of one sentence."""
        return cls([{"type": "text", "text": text}], is_error=True)

    def text(self) -> str:
        """Return all that the agent was shown: the blocks' text, and structured content that no block repeats.

        Another kind of block is named. The specification asks servers to repeat the structured content as JSON in a
        block, and servers wrap a plain result in an object with one key, as FastMCP does (`{"result": text}`).
        """
        texts = [str(block.get("text", f"[{block.get('type')}]")) for block in self.content]
        if self.structured is not None and not self._is_repeated(texts):
            texts.append(json.dumps(self.structured))
        return "\n".join(texts)

    def _is_repeated(self, texts: Sequence[str]) -> bool:
        values: list[Any] = []
        for text in texts:
            with suppress(ValueError, RecursionError):
                values.append(json.loads(text))
        results: list[Any] = [self.structured]
        if self.structured is not None and len(self.structured) == 1:
            results.extend(self.structured.values())
        return any(shown in results for shown in (*texts, *values, texts, values))


class Servers(Protocol):
    """Protocol of what carries calls to the servers of the world; a lost server answers with an error."""

    def expect(self, server: str) -> None:
        """Have a server started ahead of the calls to it, and don't wait for it."""
        ...

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> ToolReply:
        """Call a tool and wait at most `seconds`."""
        ...


class AgentSession:
    """The state of one session.

    Args:
        spec: the task's visible part.
        servers: where passed-on calls go.
        emit: takes each entry of the log, at once.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        spec: GatewaySpec,
        servers: Servers,
        emit: Callable[[Mapping[str, Any]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spec = spec
        self.ended: Ended | None = None
        self.over = anyio.Event()
        self.begun = anyio.Event()
        self._servers, self._emit, self._clock = servers, emit, clock
        self._deadline = float("inf")
        self._listed = {str(tool["name"]) for tool in spec.tools}
        self._faults = {(fault["tool"], int(fault["call"])): str(fault["error"]) for fault in spec.faults}
        self._by_tool: Counter[str] = Counter()
        self._calls = 0
        self._has_shortlist = False
        self._room = MAX_ALL_ARGUMENTS
        self._turn = anyio.Lock()

    def begin(self) -> None:
        """Start the wall clock and log it, at the first request; a session that was prepared ahead loses no time."""
        if not self.begun.is_set():
            self.begun.set()
            if self.ended is None:
                self._emit({"asked": True})
            self._deadline = self._clock() + self.spec.wall

    def speak(self) -> None:
        """Have the task's own server come up, at the first word of MCP: calls to it are about to come."""
        if self.spec.server:
            self._servers.expect(self.spec.server)

    def left(self) -> float:
        """Return the seconds that are left of the wall clock; the session ends where there are none."""
        left = self._deadline - self._clock()
        if left <= 0:
            self.end("time-exceeded")
        return max(left, 0.0)

    def end(self, how: Ended) -> None:
        """End the session; the first reason stands."""
        if self.ended is None:
            self.ended = how
            self._emit({"ended": how})
            self.over.set()

    def answer(self, text: str) -> bool:
        """Take the agent's answer, which ends the session; say whether it came in time."""
        self.begin()
        if self.left() <= 0 or self.ended:
            return False
        self._emit({"answer": text})
        self.end("answered")
        return True

    def take_shortlist(self, names: Sequence[str]) -> bool:
        """Take the listed tools that the agent shortlists, best first; say whether they are its first, before any call.

        What comes after a call could tell what the calls have shown, and not what a retrieval found.
        """
        if self._has_shortlist or self._calls or self.left() <= 0 or self.ended:
            return False
        self._has_shortlist = True
        self._emit({"shortlist": [document_name(name) for name in names]})
        return True

    def find_unlisted(self, names: Sequence[str]) -> list[str]:
        """Return those of some wire names that are no listed tool's."""
        return [name for name in names if name not in self._listed]

    async def call(self, name: str, arguments: Mapping[str, Any] | None) -> ToolReply:
        """Take a tool call by its wire name."""
        self.begin()
        too_large = beyond_caps(arguments or {})
        arguments = {} if too_large else dict(arguments or {})  # 1
        async with self._turn:
            if self.left() <= 0 or self.ended:  # 2
                return ToolReply.error(f"the session has ended ({self.ended}); no further call is accepted")
            return await self._counted(name, arguments, too_large)

    async def _counted(self, name: str, arguments: Mapping[str, Any], too_large: str) -> ToolReply:
        self._room -= len(json.dumps(arguments))
        if self._room < 0:
            arguments, too_large = {}, f"all calls' arguments together are longer than {MAX_ALL_ARGUMENTS} bytes"
        self._calls += 1  # 3
        listed = name in self._listed
        tool = document_name(name) if listed else printable(name)
        self._emit({"call": self._calls, "tool": tool, "arguments": arguments, "listed": listed})
        started, injected = self._clock(), False
        if refusal := self._refusal(tool, too_large, listed=listed):  # 4
            reply = ToolReply.error(refusal)
        elif (fault := self._scheduled(tool)) is not None:  # 5
            reply, injected = ToolReply.error(fault), True
        else:
            reply = await self._passed_on(tool, arguments)  # 6
        seconds = self._clock() - started
        entry = {"result": self._calls, "error": reply.is_error, "injected": injected, "refused": bool(refusal)}
        self._emit({**entry, "seconds": round(seconds, 6), "text": cut(sound(reply.text()), MAX_LOGGED)})
        if self._calls > self.spec.max_steps:
            self.end("steps-exceeded")
        return reply

    def _refusal(self, tool: str, too_large: str, *, listed: bool) -> str:
        if self._calls > self.spec.max_steps:
            return f"no steps are left: the task allows {self.spec.max_steps} calls"
        return too_large if listed else f"Unknown tool: {tool}"

    def _scheduled(self, tool: str) -> str | None:
        self._by_tool[tool] += 1
        return self._faults.get((tool, self._by_tool[tool]))

    async def _passed_on(self, tool: str, arguments: Mapping[str, Any]) -> ToolReply:
        server, _, name = tool.partition(".")
        with anyio.CancelScope(shield=True):
            try:
                seconds = min(self.spec.call_seconds, self.left())
                reply = within_cap(await self._servers.call(server, name, arguments, seconds))
            except Exception:  # whatever a server sent: a call that was logged gets its result
                reply = ToolReply.error(f"the server {server} sent an invalid response")
        return reply


def printable(name: str) -> str:
    """Escape and cut a name that an agent made up, so that a log can be printed."""
    return cut(ascii(name)[1:-1], MAX_NAME)


def cut(text: str, size: int) -> str:
    """Cut a text at `size` characters, and say so."""
    return text if len(text) <= size else f"{text[:size]}… (cut)"


def sound(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode (a server may send one)."""
    return text.encode("utf-8", "replace").decode()


def beyond_caps(arguments: Mapping[str, Any]) -> str:
    """Say in a sentence which cap the arguments break, or nothing."""
    if _depth(arguments, MAX_DEPTH + 1) > MAX_DEPTH:
        return f"the arguments are nested deeper than {MAX_DEPTH} levels"
    if len(json.dumps(arguments)) > MAX_ARGUMENTS:
        return f"the arguments are longer than {MAX_ARGUMENTS} bytes"
    return ""


def within_cap(reply: ToolReply) -> ToolReply:
    """Return the reply, or an error in its place where it is too long for any agent."""
    if max(len(json.dumps(part)) for part in (reply.content, reply.structured)) <= MAX_RESULT:
        return reply
    return ToolReply.error(f"the result is longer than {MAX_RESULT} bytes; ask for less")


def _depth(value: Any, limit: int) -> int:
    if limit == 0 or not isinstance(value, dict | list):
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(item, limit - 1) for item in inside), default=0)
