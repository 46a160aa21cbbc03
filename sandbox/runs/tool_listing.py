"""First start of a server: in a box with no network it lists its tools and answers a call, or it is said why not."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio

from sandbox.boxes.box import Box, ResourceLimits, World
from sandbox.boxes.output import printable
from sandbox.errors import Malformed, Unavailable
from sandbox.gateway.session import ToolReply
from sandbox.gateway.upstream import WorldServers
from sandbox.isolation.system_calls import GROUPS
from sandbox.servers.server import Server
from sandbox.servings.state_reader import in_data
from sandbox.world.channel import Exit

SECONDS = 60.0
"""How long a server has to come up and list its tools, and for a call; more where its manifest gives its calls more."""
EXIT_SECONDS = 2.0
"""How long after its streams a server's end is waited for, and its report where it runs."""
MAX_CALLS = 3  # tools that are tried where the manifest names none
LAST_LINES = 5
SHOWN = 700  # characters of what a server wrote
READS = re.compile(r"(^|[_.-])(list|get|read|show|search|find|status|info|describe|count|ping)", re.IGNORECASE)
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*:.*")


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What a server did when it was started for the first time.

    Attributes:
        tools: its tools: name -> description, input schema, and output schema if it has one.
        called: the tool that answered a call; None where each has required arguments and the manifest names none.
        answer: what it answered.
    """

    tools: dict[str, dict[str, Any]]
    called: str | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What came out of a server.

    Attributes:
        tools: its own list, or None.
        calls: the calls that were made, with their replies.
        late: whether what was asked last was not answered in time.
        failure: why it cannot be talked to.
        stray: how the first line of its output begins that is no MCP.
    """

    tools: list[Mapping[str, Any]] | None
    calls: Sequence[tuple[str, ToolReply]]
    late: bool
    failure: str
    stray: bytes


def listed(box: Box, server: Server, *, limits: ResourceLimits | None = None) -> dict[str, dict[str, Any]]:
    """Start a server in a fresh world and return its tools.

    Raises:
        Unavailable: as for `start`.
    """
    return start(box, server, limits=limits, call=False).tools


def start(
    box: Box, server: Server, *, limits: ResourceLimits | None = None, call: bool = True, diagnose: bool = True
) -> FirstStart:
    """Start a server in a fresh world, on what it starts with, list its tools, and call one.

    Args:
        box: where.
        server: the server.
        limits: the world's.
        call: whether to call a tool.
        diagnose: whether to start one that failed again, to see if it lacks a group of system calls.

    Raises:
        Unavailable: the box cannot be had, or the server ends, does not answer in time, or answers with an error; the
            message has its exit code and the last that it wrote on standard error.
        Malformed: the manifest names a tool that the server does not list.
    """
    world = box.world([server], in_data(server, server.seed(server.start_with)), limits or ResourceLimits())
    try:
        seconds = max(SECONDS, server.call_seconds)
        heard = asyncio.run(_hear(world.channel(), server, seconds, call=call))
        if heard.tools is None or (heard.calls and heard.calls[-1][1].is_error):
            failure = _failure(server, heard, world, seconds)
            group = None if heard.late or not diagnose else _lacking(box, server, limits, call=call)
            raise Unavailable(failure if group is None else f"{failure}. {group}")
    finally:
        world.close()
    names = sorted(str(tool["name"]) for tool in heard.tools)
    if call and server.first_call is not None and server.first_call["tool"] not in names:
        raise Malformed(
            f"the manifest of {server.name} at $.first_call.tool names {server.first_call['tool']!r}, and the server "
            f"lists {', '.join(names)[:SHOWN] or 'none'}"
        )
    tools = {
        str(tool["name"]): {
            "description": tool.get("description") or "",
            **{key: tool[key] for key in ("inputSchema", "outputSchema") if key in tool},
        }
        for tool in heard.tools
    }
    name, reply = heard.calls[-1] if heard.calls else (None, None)
    return FirstStart(tools, name, _shown(reply.text()) if reply else "")


def last_lines(stderr: str) -> str:
    """Return the last lines of a standard error on one line, and before them the line of an error that they lack."""
    lines = [line.strip() for line in printable(stderr.encode()).splitlines() if line.strip()]
    last = lines[-LAST_LINES:]
    errors = [line for line in lines if _ERROR.match(line)]
    return " / ".join([*(error for error in errors[-1:] if error not in last), *last])[:SHOWN]


def calls_to_try(server: Server, tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the call that the manifest names if it is a tool's, or tools without required arguments, readers first."""
    names = {str(tool["name"]): tool for tool in tools}
    if server.first_call is not None:
        name = server.first_call["tool"]
        return [(name, server.first_call.get("arguments", {}))] if name in names else []

    def alters(name: str) -> tuple[bool, bool]:
        annotations = names[name].get("annotations") or {}
        return annotations.get("readOnlyHint") is not True, READS.search(name) is None

    free = [name for name, tool in names.items() if not (tool.get("inputSchema") or {}).get("required")]
    return [(name, {}) for name in sorted(free, key=alters)[:MAX_CALLS]]


def _failure(server: Server, heard: _Heard, world: World, seconds: float) -> str:
    """Return one sentence on why a server could not be used, with what it said itself."""
    ended = _exit(world, waits=not heard.late)
    running = () if ended else world.report(EXIT_SECONDS)
    stderr = ended.stderr if ended else next((program.stderr for program in running if program.stderr), "")
    if heard.calls:
        name, reply = heard.calls[-1]
        answered = f"answered {name} with an error: {_shown(heard.failure or reply.text())}"
        late = f"did not answer {name} within {seconds:.0f} s"
        what = f"the server {server.name} lists its tools, and {late if heard.late else answered}"
        mend = (
            "mend its command, or name another tool with its arguments under `first_call`, or what it needs to start "
            "under `start_with`"
        )
    else:
        what, mend = f"the server {server.name} did not list its tools", "mend command or environment in its manifest"
    if ended is not None:
        memory = ", its world out of memory" if world.facts().out_of_memory else ""
        before = "" if heard.calls else "before it listed its tools"
        what = what if heard.calls else f"the server {server.name}"
        what += f"{' and then' if heard.calls else ''} ended with code {ended.code}{memory} {before}".rstrip()
    elif not heard.calls and heard.failure:
        what += f": it {_shown(heard.failure)}, and still runs"
        mend += ", or use another version of it"
    elif not heard.calls:
        what += f" within {seconds:.0f} s, and still runs: it is slow, or waits for something"
        mend += ", or give it more time with `limits.call_seconds`"
    last, line = last_lines(stderr), printable(heard.stray).strip()
    what += f"; it wrote last on standard error: {last}" if last else "; it wrote nothing on standard error"
    what += f"; its standard output has lines that are not MCP, first '{line}'" if line else ""
    starts = "" if server.start_with else "; it is started on an empty folder, unless the manifest has `start_with`"
    return f"{what}{starts}; its command is `{' '.join(server.command)}`: {mend}"


def _lacking(box: Box, server: Server, limits: ResourceLimits | None, *, call: bool) -> str | None:
    """Return a sentence on the group of system calls with which a server starts that failed without; None for none."""

    def works(groups: Sequence[str]) -> bool:
        try:
            start(box, replace(server, system_calls=groups), limits=limits, call=call, diagnose=False)
        except (Unavailable, Malformed):
            return False
        return True

    missing = [group for group in GROUPS if group not in server.system_calls]
    if not works([*server.system_calls, *missing]):
        return None
    needed = next(([group] for group in missing if works([*server.system_calls, group])), missing)
    return (
        f"It lacks system calls: with `system_calls: [{', '.join([*server.system_calls, *needed])}]` in its manifest "
        "it starts; docs/reference/server-manifests.md says what that opens"
    )


def _exit(world: World, *, waits: bool) -> Exit | None:
    """Return how the server ended, if it did; the word of it may come a little after the end of its output."""
    deadline = time.monotonic() + EXIT_SECONDS
    while waits and not world.exits and time.monotonic() < deadline:
        time.sleep(0.02)
    return next(iter(world.exits), None)


def _shown(text: str) -> str:
    return " ".join(printable(text.encode("utf-8", "replace")).split())[:SHOWN]


async def _hear(channel: socket.socket, server: Server, seconds: float, *, call: bool) -> _Heard:
    """Ask a server for its tools, and call some until one answers without an error."""
    channel.settimeout(0)
    servers = WorldServers([server.name], channel, lambda _entry: None, seconds)
    calls: list[tuple[str, ToolReply]] = []
    tools, asked = None, time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        tools = await servers.tools(server.name)
        for name, arguments in calls_to_try(server, tools) if call and tools else ():
            asked = time.monotonic()
            calls.append((name, await servers.call(server.name, name, arguments, seconds)))
            if not calls[-1][1].is_error:
                break
        late = time.monotonic() - asked >= seconds
        group.cancel_scope.cancel()
    return _Heard(tools, calls, late, servers.failure(server.name), servers.stray(server.name))
