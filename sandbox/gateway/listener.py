"""HTTP listener of one agent: the strict HTTP/1.1 protocol on an inherited Unix socket, with our own caps.

At most MAX_CONNECTIONS at a time (more are closed at once), HEADER_SECONDS to send a request's head, from the
connection's start or from the first byte after another request, and BODY_SECONDS more for the rest of it, whether
anybody still reads it or not.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.config import Config
from uvicorn.server import ServerState

from sandbox.strict_http import StrictProtocol

MAX_CONNECTIONS = 32
MAX_HEAD = 16 * 1024
HEADER_SECONDS = 10.0
BODY_SECONDS = 15.0  # more than the application waits for a body, so that its refusal comes first
IDLE_SECONDS = 300


class Connection(StrictProtocol):
    """One connection, with a deadline for each part of a request."""

    most: ClassVar[int] = MAX_CONNECTIONS
    head_seconds: ClassVar[float] = HEADER_SECONDS
    _deadline: asyncio.TimerHandle | None = None
    _awaited: Any = None  # the part that it runs for, as h11 names the state

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take the connection, or close it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.make_room()
        self._watch(h11.IDLE)

    def make_room(self) -> None:
        """Close what is one too many: this one."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._watch(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, and set the clock for what has to follow them."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on with what came behind the request that was answered."""
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        state = self.conn.their_state
        begun = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        self._watch(state if begun else None)

    def _watch(self, part: Any) -> None:
        """Run the clock for this part of a request; it goes on where it runs for that part already."""
        if part is self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._awaited, self._deadline = part, None
        if part is not None:
            seconds = self.head_seconds if part is h11.IDLE else BODY_SECONDS
            self._deadline = self.loop.call_later(seconds, self.transport.abort)


async def listen(app: Any, listener: socket.socket) -> asyncio.Server:
    """Serve an ASGI application on a socket that listens already."""
    loop = asyncio.get_running_loop()
    # not create_unix_server: from Python 3.13 on it looks up the socket's file, and a gateway may look up none
    return await loop.create_server(protocol(app), sock=listener, backlog=MAX_CONNECTIONS)


def protocol(app: Any, kind: type[Connection] = Connection) -> Callable[[], Connection]:
    """Return what makes the protocol of each connection, one of this kind."""
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
    return lambda: kind(config=config, server_state=state, app_state={}, _loop=loop)
