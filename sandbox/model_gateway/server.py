"""Model process: the only process that holds an upstream's key. Run as `python -I -m sandbox.model_gateway.server`.

It is executed and not forked from the runner, with an environment of two words. Before it hears of any session it
reads what it is told from a file in memory, loads all that it needs by asking a server of its own on the loopback,
and gives up its user, new privileges, files, core dumps and being traced. It keeps the network: it is the only process
of a run that has one.

Protocol, on the SOCK_SEQPACKET pair that is its standard input: first a message with one descriptor, the file; it
answers `ready`. Then a message for each session with two descriptors, a link to its gateway and a log to the runner;
the text is the session's cache key. `probe MODEL` asks whether the upstream answers, and gets `yes` or `no`.
It ends with the runner.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sandbox.isolation.confine import own_processes
from sandbox.model_gateway.confine import confine
from sandbox.model_gateway.formats.registry import BY_NAME
from sandbox.model_gateway.link import pack
from sandbox.model_gateway.session import UpstreamSession
from sandbox.model_gateway.spec import UpstreamSpec
from sandbox.model_gateway.upstream import Upstream

MAX_ORDER = 512


def main(control: socket.socket) -> None:
    """Serve sessions until the runner is gone."""
    own_processes()
    logging.disable()  # a library's log line may quote what it was given
    warnings.simplefilter("ignore")
    _, descriptors, _, _ = socket.recv_fds(control, MAX_ORDER, 1)
    with os.fdopen(descriptors[0], "rb") as file:
        config = json.load(file)
    asyncio.run(_run(control, UpstreamSpec.from_json(config["spec"]), config["key"]))


async def _run(control: socket.socket, spec: UpstreamSpec, key: str) -> None:
    await _rehearse(spec)
    upstream = Upstream(spec, key)
    confine()
    control.settimeout(0)
    control.send(b"ready")
    gc.collect()
    gc.freeze()
    sessions: set[asyncio.Task[None]] = set()
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(control.fileno(), readable.set)
    while True:
        await readable.wait()
        readable.clear()
        with suppress(BlockingIOError):
            while True:
                order, descriptors, _, _ = socket.recv_fds(control, MAX_ORDER, 2)
                if not order:
                    os._exit(0)
                task = asyncio.create_task(_obey(control, upstream, order.decode(), descriptors))
                sessions.add(task)
                task.add_done_callback(sessions.discard)


async def _obey(control: socket.socket, upstream: Upstream, order: str, descriptors: list[int]) -> None:
    if order.startswith("probe "):
        wire = next(wire for wire in BY_NAME.values() if wire.style == upstream.spec.wire)
        control.send(b"yes" if await upstream.answers(wire, order.removeprefix("probe ")) else b"no")
        return
    link, log = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    with link, log:
        await _session(upstream, order, link, log)


async def _session(upstream: Upstream, cache_key: str, link: socket.socket, log: socket.socket) -> None:
    def emit(entry: Mapping[str, Any]) -> None:
        log.sendall(pack(entry))  # the runner's thread reads at once; a log that cannot be written ends the session

    with suppress(OSError):
        await UpstreamSession(upstream, cache_key, await asyncio.open_connection(sock=link), emit).run()


async def _rehearse(spec: UpstreamSpec) -> None:
    """Ask a server of our own once: what is first needed later could not be loaded without our user."""
    wire = next(wire for wire in BY_NAME.values() if wire.style == spec.wire)
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    upstream = Upstream(replace(spec, url=f"http://127.0.0.1:{port}"), "rehearsal")
    async with server:
        await upstream.answers(wire, "rehearsal")
    await upstream.close()
    with suppress(OSError):
        await asyncio.get_running_loop().getaddrinfo("localhost", 443)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
    writer.close()


if __name__ == "__main__":
    main(socket.socket(fileno=os.dup(0)))
