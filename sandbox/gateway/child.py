"""Main function of a gateway process: one session, from the specification to the last entry of its log."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.abc

from sandbox.gateway.app import App
from sandbox.gateway.confine import confine
from sandbox.gateway.listener import listen
from sandbox.gateway.log_protocol import pack
from sandbox.gateway.session import AgentSession
from sandbox.gateway.spec import GatewaySpec
from sandbox.gateway.upstream import WorldServers
from sandbox.model_gateway.agent_endpoints import Front
from sandbox.servers.registry import wire_name

SPARE_SECONDS = 60  # of processor time beyond the wall clock, for starting and ending


def main(specification: int, channel: int, report: int, others: Sequence[int]) -> None:
    """Run one gateway on these descriptors and end the process.

    Args:
        specification: a file in memory that holds the `GatewaySpec`.
        channel: the world's channel.
        report: a stream socket to the runner; one byte from it, or its end, finishes the session.
        others: a Unix socket that listens, unless a script is played; and the link to the model process, if there is
            one.
    """
    with os.fdopen(specification, "rb") as file:
        spec = GatewaySpec.from_bytes(file.read())
    confine(int(spec.wall) + SPARE_SECONDS)
    runner = socket.socket(fileno=report)
    asyncio.run(
        _run(spec, socket.socket(fileno=channel), runner, [socket.socket(fileno=descriptor) for descriptor in others])
    )


async def _run(
    spec: GatewaySpec, channel: socket.socket, runner: socket.socket, others: Sequence[socket.socket]
) -> None:
    def emit(entry: Mapping[str, Any]) -> None:
        try:
            runner.sendall(pack(entry))
        except OSError:
            os._exit(1)  # nobody listens any more

    upstream = WorldServers(spec.servers, channel, emit, spec.call_seconds)
    session = AgentSession(spec, upstream, emit)
    async with anyio.create_task_group() as group:
        group.start_soon(upstream.run)
        group.start_soon(_watch_clock, session)
        group.start_soon(_watch_runner, session, runner)
        if spec.script is not None:
            emit({"ready": True})
            await _play(session, upstream)
            os._exit(0)
        listener, *links = others
        front = Front(links[0], spec.model["wire"], spec.model["models"]) if spec.model else None
        if front:
            group.start_soon(front.run)
        await _serve(session, front, listener, emit)


async def _serve(session: AgentSession, front: Front | None, listener: socket.socket, emit: Any) -> None:
    app = App(session, front)
    async with app.running():
        await listen(app, listener)
        emit({"ready": True})
        await anyio.sleep_forever()


async def _play(session: AgentSession, upstream: WorldServers) -> None:
    """Play the script through the session, as an agent would.

    Every server that is called is up before the first call, so that one which does not come up is not taken for one
    that a call broke. A script without calls wakes all.
    """
    script = session.spec.script or ()
    called = {call.tool.partition(".")[0] for call in script} & set(session.spec.servers)
    script = script if await upstream.wake(called or session.spec.servers) else ()
    for call in script:
        await session.call(wire_name(call.tool), call.arguments)
    if session.spec.script_answer is not None:
        session.answer(session.spec.script_answer)
    session.end("agent-exited")


async def _watch_clock(session: AgentSession) -> None:
    await session.begun.wait()
    while session.left() > 0 and session.ended is None:
        await anyio.sleep(min(session.left(), 1.0) + 0.01)


async def _watch_runner(session: AgentSession, runner: socket.socket) -> None:
    await anyio.wait_readable(runner)
    session.end("agent-exited")
    os._exit(0)  # what is in flight is the world's business now
