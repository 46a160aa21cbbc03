"""HTTP server of one home: uvicorn around the application, on the loopback unless told otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from queue import Empty, Queue
from typing import Any

import uvicorn
from fastapi import FastAPI

from quarterturn.errors import Unavailable
from quarterturn.http.responses.listening import Listening
from quarterturn.month.automatic_turn import MonthlyClock
from quarterturn.submissions.store.queue import Executor
from sandbox.strict_http import StrictProtocol

START_SECONDS = 60
SHUTDOWN_TIMEOUT_SECONDS = 20  # for answers in the making


def serve(app: FastAPI, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the address once it answers there."""
    make_server(app, host, port, ready=ready).run()


def make_server(
    app: FastAPI,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    life: AbstractAsyncContextManager[Any] | None = None,
) -> Listening:
    """Return the server that `serve` runs; it ends once its `should_exit` is set.

    Forwarded client addresses are trusted only from a proxy on this machine.

    Args:
        app: what it serves.
        host: the address to listen on.
        port: the port; 0 takes any.
        ready: is called with the address once it answers there.
        life: what lasts as long as the server; that of the app by default, which has its executor work.
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
    return Listening(config, ready, life or app.router.lifespan_context(app))


@contextmanager
def answering(app: FastAPI) -> Iterator[str]:
    """Answer on the loopback for the block, in a thread, at an address that is yielded; without the app's executor.

    Raises:
        Unavailable: it did not start.
    """
    addresses: Queue[str] = Queue()
    server = make_server(app, "127.0.0.1", 0, ready=addresses.put, life=nullcontext())
    thread = threading.Thread(target=server.run, name="runners")
    thread.start()
    try:
        try:
            address = addresses.get(timeout=START_SECONDS)
        except Empty:
            raise Unavailable(
                f"no server for runners listened on 127.0.0.1 within {START_SECONDS} s: try again"
            ) from None
        yield address
    finally:
        server.should_exit = True
        thread.join()


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
