"""Uvicorn server that reports its address once it listens."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn


class Listening(uvicorn.Server):
    """Reports its address once it answers there: the port may have been chosen by the system."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report the address."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
