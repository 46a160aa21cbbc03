"""Runner's side of the model process: starts it with its key, opens a session for each task, and reads the logs.

    1. the upstream's description and key go into an anonymous file in memory, and nowhere else
    2. the process is executed clean: an environment of two words, no descriptor but its control socket
    3. each task's run gets a link of its own, whose other end goes to its gateway, and a random cache key
    4. a thread of ours reads each session's log as it comes and checks every entry

A model process that dies is a fact about the runs that it served (`down`), never an exception of them; it is started
again for the next session.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, Self

from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.isolation.forkserver import start_clean
from sandbox.model_gateway.link import CHUNK
from sandbox.model_gateway.log_protocol import ModelCallLog
from sandbox.model_gateway.spec import JUDGE_SECONDS, UpstreamSpec
from sandbox.transcript import ModelCall

START_SECONDS = 60.0
PROBE_SECONDS = 60.0
FINISH_SECONDS = JUDGE_SECONDS + 10.0
KILL_SECONDS = 5.0


class ModelLink(Protocol):
    """One task's session with a language model, as whoever plays the task has it."""

    @property
    def gateway_end(self) -> socket.socket:
        """The gateway's end of the link; it belongs to whoever starts the gateway with it."""
        ...

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """What was sent and came back so far."""
        ...

    @property
    def lost(self) -> bool:
        """Whether the model process died before the session's end."""
        ...

    def finish(self) -> None:
        """Wait for the session's end, once its gateway is gone; safe to call twice."""
        ...


class ModelLinks(Protocol):
    """Opener of sessions with one language model: its gateway, or a session that another process has opened."""

    def open(self) -> ModelLink:
        """Open the session of one task.

        Raises:
            Unavailable: it cannot be had.
        """
        ...


def random_key() -> str:
    """Make a name for a provider's cache that no other run has."""
    return f"qt-{secrets.token_hex(16)}"


class ModelGateway:
    """The model process of one upstream, for all tasks of a run.

    Args:
        spec: the upstream.
        key: its key; it is handed to the process and kept here to start it again.
        cache_key: makes a random name for each session.
    """

    def __init__(self, spec: UpstreamSpec, key: str, cache_key: Callable[[], str] = random_key) -> None:
        self.spec = spec
        self._key, self._cache_key = key, cache_key
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def __repr__(self) -> str:
        """Name the upstream, and nothing else."""
        return f"ModelGateway({self.spec.name!r})"

    def open(self) -> ModelSession:
        """Open the session of one task's run.

        Raises:
            Unavailable: the process cannot be started.
        """
        link, gateway_end = socket.socketpair()
        log, logged = socket.socketpair()
        with link, logged:
            session = ModelSession(gateway_end, log)
            try:
                with self._lock:
                    descriptors = [link.fileno(), logged.fileno()]
                    socket.send_fds(self._running(), [self._cache_key().encode()], descriptors)
            except OSError as error:
                session.kill()
                raise Unavailable(f"the model process does not take a session: {error}") from error
            except BaseException:
                session.kill()
                raise
        return session

    def check(self, model: str) -> bool:
        """Ask the upstream something harmless, and say whether it answers.

        Raises:
            Unavailable: the process cannot be started.
            Lost: it died over it.
        """
        with self._lock:
            control = self._running()
            control.send(f"probe {model}".encode())
            control.settimeout(PROBE_SECONDS)
            try:
                reply = control.recv(8)
            except TimeoutError:
                reply = b""
            finally:
                control.settimeout(None)
            if not reply:
                self._end()  # or it might answer the next question with this one's answer
        if reply not in {b"yes", b"no"}:
            raise Lost("the model process did not say whether the upstream answers")
        return reply == b"yes"

    def close(self) -> None:
        """End the process, with all sessions; safe to call twice."""
        with self._lock:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> socket.socket:
        if self._process is not None and self._process.poll() is None and self._control is not None:
            return self._control
        self._end()
        self._process, self._control = start_clean("-m", "sandbox.model_gateway.server")
        self._hand_over(self._control)
        return self._control

    def _hand_over(self, control: socket.socket) -> None:
        with os.fdopen(os.memfd_create("upstream"), "w+b") as file:
            file.write(json.dumps({"spec": self.spec.as_json(), "key": self._key}).encode())
            file.seek(0)
            try:
                socket.send_fds(control, [b"!"], [file.fileno()])
                control.settimeout(START_SECONDS)
                reply = control.recv(8)
            except OSError:
                reply = b""
        control.settimeout(None)
        if reply != b"ready":
            self._end()
            raise Unavailable("the model process does not start; try `python -m sandbox.model_gateway.server`")

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


class ModelSession:
    """One task's session, from its runner's side.

    Attributes:
        gateway_end: the gateway's end of the link; it belongs to whoever starts the gateway with it.
    """

    def __init__(self, gateway_end: socket.socket, log: socket.socket) -> None:
        self.gateway_end = gateway_end
        self._log = log
        self._book = ModelCallLog()
        self._broken = False
        self._thread = threading.Thread(target=self._keep_log, name="model-log", daemon=True)
        self._thread.start()

    def finish(self, timeout: float = FINISH_SECONDS) -> None:
        """Wait for the session's end, once its gateway is gone; safe to call twice."""
        self.gateway_end.close()
        self._thread.join(timeout)
        self.kill()

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """What was sent and came back so far."""
        return self._book.calls()

    @property
    def lost(self) -> bool:
        """Whether the model process died before the session's end: a fault of ours."""
        return self._broken

    def kill(self) -> None:
        """Let go of everything; safe to call twice."""
        self.gateway_end.close()
        with suppress(OSError):
            self._log.shutdown(socket.SHUT_RDWR)
        self._thread.join(KILL_SECONDS)
        self._log.close()

    def _keep_log(self) -> None:
        with suppress(OSError, Malformed):
            while data := self._log.recv(CHUNK):
                self._book.feed(data)
        self._broken = not self._book.ended
        with suppress(OSError):
            self._log.shutdown(socket.SHUT_RDWR)  # nobody reads on, so nothing more is to be sent to a model
