"""HTTP connections of one agent: uvicorn's HTTP/1.1 protocol on an inherited Unix socket, with caps of our own.

At most MAX_CONNECTIONS at a time (more are closed at once), and HEADER_SECONDS to send a request's head, from the
connection's start or from the first byte after another request.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MAX_CONNECTIONS = 32
MAX_HEAD = 16 * 1024
HEADER_SECONDS = 10.0
IDLE_SECONDS = 300


class Connection(H11Protocol):
    """One connection, with a deadline for each request's head."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take the connection, or close it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, and start or stop the clock for the head that they belong to."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._watch()
        else:
            self._unwatch()

    def _watch(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def listen(app: Any, listener: socket.socket) -> asyncio.Server:
    """Serve an ASGI application on a socket that listens already."""
    loop = asyncio.get_running_loop()
    return await loop.create_unix_server(protocol(app), sock=listener, backlog=128)


def protocol(app: Any) -> Callable[[], Connection]:
    """Give what makes the protocol of each connection."""
    config = Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        interface="asgi3",
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=IDLE_SECONDS,
    )
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    return lambda: Connection(config=config, server_state=state, app_state={}, _loop=loop)
