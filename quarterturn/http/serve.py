"""HTTP server of one home: uvicorn around the application, on the loopback unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from quarterturn.http.responses.listening import Listening
from quarterturn.month.automatic_turn import MonthlyClock
from quarterturn.submissions.store.queue import Executor
from sandbox.strict_http import StrictProtocol

SHUTDOWN_TIMEOUT_SECONDS = 20  # for answers in the making


def serve(app: FastAPI, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the address once it answers there."""
    make_server(app, host, port, ready=ready).run()


def make_server(app: FastAPI, host: str, port: int, *, ready: Callable[[str], None]) -> Listening:
    """Return the server that `serve` runs; it ends once its `should_exit` is set.

    Forwarded client addresses are trusted only from a proxy on this machine.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=StrictProtocol,
        access_log=False,  # a path may name a task, and an address a person
        server_header=False,
        date_header=True,
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        h11_max_incomplete_event_size=65536,
        ws="none",
        lifespan="off",
        log_config=None,
    )
    return Listening(config, ready, app.router.lifespan_context(app))


class Together:
    """An executor and the monthly clock, started and stopped as one."""

    def __init__(self, executor: Executor, clock: MonthlyClock) -> None:
        self._executor, self._clock = executor, clock

    def wake(self) -> None:
        """Look for a job now."""
        self._executor.wake()

    def start(self) -> None:
        """Begin to work, then to look."""
        self._executor.start()
        self._clock.start()

    def stop(self) -> None:
        """Look no more, then put back what was begun."""
        self._clock.stop()
        self._executor.stop()
