"""HTTP server of one home: uvicorn around the application, on the loopback unless told otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from queue import Empty, Queue
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from quarterturn.errors import Unavailable
from quarterturn.http.responses.listening import Listening
from quarterturn.http.routes.runners import PREFIX
from quarterturn.month.automatic_turn import MonthlyClock
from quarterturn.submissions.store.queue import Executor
from sandbox.strict_http import StrictProtocol

START_SECONDS = 60
SHUTDOWN_TIMEOUT_SECONDS = 20  # for answers in the making


def serve(app: FastAPI, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the address once it answers there."""
    make_server(app, host, port, ready=ready).run()


def make_server(app: FastAPI, host: str, port: int, *, ready: Callable[[str], None]) -> Listening:
    """Return the server that `serve` runs; it ends once its `should_exit` is set.

    Forwarded client addresses are trusted only from a proxy on this machine.
    """
    return _listening(app, host, port, ready, app.router.lifespan_context(app))


@contextmanager
def serve_runners(app: FastAPI) -> Iterator[str]:
    """Answer runners, and nobody else, on the loopback for the block, in a thread, at the address that is yielded.

    The application's executor does not work: that is its other server's.

    Raises:
        Unavailable: it did not start.
    """
    addresses: Queue[str] = Queue()
    server = _listening(_for_runners(app), "127.0.0.1", 0, addresses.put, nullcontext())
    thread = threading.Thread(target=server.run, name="runners")
    thread.start()
    try:
        yield _address_of(addresses)
    finally:
        server.should_exit = True
        thread.join()


def _address_of(addresses: Queue[str]) -> str:
    try:
        return addresses.get(timeout=START_SECONDS)
    except Empty:
        why = f"no server for runners listened on 127.0.0.1 within {START_SECONDS} s: try again"
        raise Unavailable(why) from None


def _for_runners(app: FastAPI) -> ASGIApp:
    """Return the application with the routes for runners alone."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_for_runners = scope["type"] == "http" and scope["path"].startswith(f"{PREFIX}/")
        await (app if is_for_runners else Response(status_code=404))(scope, receive, send)

    return answer


def _listening(
    app: ASGIApp, host: str, port: int, ready: Callable[[str], None], life: AbstractAsyncContextManager[Any]
) -> Listening:
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
    return Listening(config, ready, life)


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
