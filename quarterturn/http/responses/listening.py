"""Uvicorn server that reports its address once it listens."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any

import uvicorn


class Listening(uvicorn.Server):
    """Reports its address once it answers there: the port may have been chosen by the system.

    Args:
        config: its lifespan is off. Uvicorn would log the traceback of what refuses to start, which may quote a task,
            and would exit with a number of its own.
        ready: is called with the address.
        life: entered before it listens and left after its last answer; what that raises is raised by `run`.
    """

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[str], None], life: AbstractAsyncContextManager[Any] | None = None
    ) -> None:
        super().__init__(config)
        self._ready, self._life = ready, life or nullcontext()
        self._entered = AsyncExitStack()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report the address."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._life)
            await super().startup(sockets)
            self._entered = stack.pop_all()
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer what was asked, and leave `life`."""
        await super().shutdown(sockets)
        await self._entered.aclose()
