"""MCP clients of a world's servers, over the one framed channel to it.

One client session a server, through the official package and with the handshake that every server answers. Each is
opened by the first call to its server, which is when the world starts that server: most of a task's servers are
distractors, and a server that is never called costs nothing. The server that the task is about is opened when the agent
begins to speak MCP, so that an agent which thinks before it calls does not wait for it. What a server writes is capped:
by line, by the values in it, and by how many lines wait; beyond that its output counts as ended. A server that does not
come up or dies is an error to the caller and an entry `{"lost": name}` in the log, one that does not come up or answer
in time an error and an entry `{"late": name}`; never is it an exception.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, CallToolRequest, CallToolRequestParams, CallToolResult
from mcp_types import jsonrpc_message_adapter as message_adapter
from pydantic import ValidationError

from sandbox.errors import Malformed
from sandbox.gateway.session import ToolReply
from sandbox.gateway.spec import CALL_SECONDS
from sandbox.servers.server import HANDSHAKE
from sandbox.strict_json import MAX_NODES, nodes
from sandbox.world import frames

MAX_LINE = 4 * 1024 * 1024
MAX_QUEUED = 256  # lines that nobody took yet
MAX_STRAY = 200  # bytes that are kept of a line that is no message
CHUNK = 64 * 1024


class WorldServers:
    """MCP clients of the servers of one world.

    Args:
        names: the servers in the order of their channels.
        channel: the world's channel; it is closed with the process.
        emit: takes entries of the log.
        call_seconds: what a server has for one call, and to come up.
    """

    def __init__(
        self,
        names: Sequence[str],
        channel: socket.socket,
        emit: Callable[[Mapping[str, Any]], None],
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._channel, self._emit, self._call_seconds = channel, emit, call_seconds
        self._lines = {name: _Line(frames.FIRST_SERVER + place) for place, name in enumerate(names)}
        self._told: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """Open sessions as they are wanted, and carry bytes until the channel ends."""
        reader, writer = await asyncio.open_connection(sock=self._channel)
        async with anyio.create_task_group() as group:
            for name, line in self._lines.items():
                line.writer = writer
                group.start_soon(self._keep, name, line)
            try:
                await self._read(reader)
            finally:
                for line in self._lines.values():
                    line.close()
                writer.close()

    def expect(self, server: str) -> None:
        """Open a session before any call asks for it, and don't wait for it; see `sandbox.gateway.session.Servers`."""
        if line := self._lines.get(server):
            line.wanted.set()

    async def wake(self, servers: Collection[str]) -> bool:
        """Open the sessions of these servers before any call asks for them, and say whether all came up."""
        lines = {name: self._lines[name] for name in servers}
        for line in lines.values():
            line.wanted.set()
        with anyio.move_on_after(self._call_seconds):
            for line in lines.values():
                await line.settled.wait()
        for name, line in lines.items():
            if line.client is None:
                self._tell("lost" if line.settled.is_set() else "late", name)
        return not self._told

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> ToolReply:
        """Call a tool; see `sandbox.gateway.session.Servers`."""
        line = self._lines.get(server)
        reply = ToolReply.error(f"the server {server} is not available")
        if line is None:
            return reply
        line.wanted.set()
        with anyio.move_on_after(seconds) as scope:
            await line.settled.wait()
            if line.client is not None:
                reply = await self._asked(server, line.client, tool, arguments)
        if scope.cancelled_caught:
            if seconds >= self._call_seconds:  # else it was the session's time that ran out
                self._tell("late", server)
            return ToolReply.error(f"the server {server} did not answer in time")
        return reply

    async def tools(self, server: str) -> list[Mapping[str, Any]] | None:
        """Return a server's own list of its tools, or None where it does not come up or answer in time."""
        line = self._lines[server]
        line.wanted.set()
        tools: list[Mapping[str, Any]] = []
        with anyio.move_on_after(self._call_seconds), suppress(RuntimeError, OSError):
            await line.settled.wait()
            cursor = None
            try:
                while line.client is not None:
                    page = await line.client.list_tools(cursor=cursor)
                    tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
                    cursor = page.next_cursor
                    if not cursor:
                        return tools
            except (MCPError, ValueError) as error:
                line.refuse("tools/list", error)
        return None

    def failure(self, server: str) -> str:
        """Return why a server cannot be talked to, as the end of a sentence about it; or nothing where it may be late.

        What it says is the server's own, unescaped.
        """
        return self._lines[server].failure

    def stray(self, server: str) -> bytes:
        """Return how the first line of a server's output begins that is no message of the protocol; or nothing."""
        return self._lines[server].stray

    async def _asked(self, server: str, client: Client, tool: str, arguments: Mapping[str, Any]) -> ToolReply:
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        try:
            # Not client.call_tool: that asks for the whole tool list first, to check results against output schemas.
            result = await client.session.send_request(request, CallToolResult)
            content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
        except MCPError as error:
            if error.code in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
                self._tell("lost", server)
            return ToolReply.error(error.message)
        except (ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, OSError) as error:
            if isinstance(error, ValueError):
                self._lines[server].refuse("tools/call", error)
            self._tell("lost", server)
            return ToolReply.error(f"the server {server} is not available")
        return ToolReply(content, bool(result.is_error), result.structured_content)

    def _tell(self, how: str, name: str) -> None:
        if (how, name) not in self._told:
            self._told.add((how, name))
            self._emit({how: name})

    async def _keep(self, name: str, line: _Line) -> None:
        """Open one session and hold it until its line ends; nothing that goes wrong here ends the others."""
        try:
            await line.wanted.wait()
            try:
                async with Client(line, mode=HANDSHAKE) as client:
                    line.client = client
                    line.settled.set()
                    await line.ended.wait()
            except Exception as error:
                line.refuse("initialize", error)
        finally:
            line.forget()
        line.client = None
        line.settled.set()
        self._tell("lost", name)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        cutter = frames.FrameReader()
        by_channel = {line.channel: line for line in self._lines.values()}
        with suppress(OSError, Malformed):
            while data := await reader.read(CHUNK):
                for channel, payload in cutter.feed(data):
                    if line := by_channel.get(channel):
                        line.feed(payload)


class _Line:
    """One server's standard input and output, as the transport of an MCP client."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.writer: asyncio.StreamWriter | None = None
        self.client: Client | None = None
        self.wanted = anyio.Event()  # a call asked for it
        self.settled = anyio.Event()
        self.ended = anyio.Event()
        self.stray = b""  # how the first line begins that is no message
        self.failure = ""  # why nothing can be said to it
        self._buffer = bytearray()
        self._incoming: MemoryObjectSendStream[SessionMessage | Exception]
        self._outgoing: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._incoming, self._outgoing = anyio.create_memory_object_stream[SessionMessage | Exception](MAX_QUEUED)

    async def __aenter__(self) -> tuple[MemoryObjectReceiveStream[SessionMessage | Exception], _Line.Outlet]:
        return self._outgoing, _Line.Outlet(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def feed(self, payload: bytes) -> None:
        """Take output of the server; an empty payload is its end."""
        if not payload or len(self._buffer) + len(payload) > MAX_LINE:
            self._end("wrote a line of more than 4 MiB" if payload else "closed its standard output")
            return
        *complete, rest = (self._buffer + payload).split(b"\n")
        self._buffer = rest
        for line in filter(None, complete):
            if nodes(bytes(line)) > MAX_NODES:
                self._end(f"wrote a message of more than {MAX_NODES} values")
                return
            message = _parsed(bytes(line))
            if isinstance(message, Exception):
                self.stray = self.stray or bytes(line[:MAX_STRAY])
            try:
                self._incoming.send_nowait(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
            except anyio.WouldBlock:
                self._end(f"wrote more than {MAX_QUEUED} lines that nobody had asked for")
                return

    def refuse(self, method: str, error: Exception) -> None:
        """Note that the server answered a request of the protocol itself with an error, or with something else."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if not isinstance(error, MCPError):
            self.failure = self.failure or f"gave `{method}` an answer that is none of MCP ({_fault(error)})"
        elif error.code not in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
            self.failure = self.failure or f"answered `{method}` with an error: {error.message}"

    def _end(self, why: str) -> None:
        self.failure = self.failure or why
        self.close()

    def close(self) -> None:
        """End the server's output: whoever waits for an answer gets an error."""
        self.ended.set()
        self._incoming.close()

    def forget(self) -> None:
        """Let go of both halves, once no session uses them."""
        self.close()
        self._outgoing.close()

    async def send(self, data: bytes) -> None:
        """Write to the server's standard input."""
        if self.writer is None:
            raise anyio.ClosedResourceError
        for start in range(0, len(data), CHUNK):
            self.writer.write(frames.pack(self.channel, data[start : start + CHUNK]))
        await self.writer.drain()

    class Outlet:
        """The writing half, in the form that the client wants."""

        def __init__(self, line: _Line) -> None:
            self._line = line

        async def send(self, item: SessionMessage, /) -> None:
            """Write one message as one line."""
            await self._line.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

        async def aclose(self) -> None:
            """Do nothing: the channel outlives the session."""

        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(
            self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
        ) -> bool | None:
            return None


def _fault(error: Exception) -> str:
    """Return where an answer departs from MCP, without what stands there."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_input=False, include_url=False)[0]
    return f"at {'.'.join(map(str, first['loc']))}: {first['msg']}"


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
