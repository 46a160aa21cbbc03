"""The runner's side of a gateway: starts the process, keeps its log, and ends it.

    1. the specification goes into an anonymous file in memory;
    2. the listening socket is made here, so that the gateway needs no file system;
    3. the nursery forks a process that has these and the world's channel, and nothing of the runner's;
    4. a thread of ours reads the log as it comes and checks every byte of it.

A gateway that dies, stalls or talks nonsense is a fact about the run (`gateway-lost`), never an exception of it.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sandbox.box import SOCKET_NAME
from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.gateway.report import Book
from sandbox.gateway.spec import GatewaySpec
from sandbox.transcript import Transcript

CHUNK = 64 * 1024
BACKLOG = 64
KILL_SECONDS = 5.0
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


class Nursery:
    """The process that gateways are forked from; started when it is first needed, and again should it have died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def warm(self) -> None:
        """Start it if it does not run, and don't wait: it loads while other things are made ready."""
        with self._lock:
            self._running()

    def bear(self, descriptors: Sequence[int]) -> None:
        """Ask for a gateway that has these descriptors.

        Raises:
            Unavailable: the nursery cannot be started.
        """
        try:
            with self._lock:
                socket.send_fds(self._running(), [b"!"], list(descriptors))
        except OSError as error:
            raise Unavailable(f"no gateway can be started: {error}; try `python -m sandbox.gateway.nursery`") from error

    @property
    def pid(self) -> int | None:
        """Give its process's number, or None where there is none."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End it, with all gateways that live."""
        with self._lock:
            if self._control is not None and self._process is not None:
                self._control.close()
                self._process.kill()
                self._process.wait()
            self._control = self._process = None

    def _running(self) -> socket.socket:
        if self._process is not None and self._process.poll() is None and self._control is not None:
            return self._control
        if self._control is not None:
            self._control.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "sandbox.gateway.nursery"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a traceback in there might quote a task
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        self._control = ours
        return ours


NURSERY = Nursery()
atexit.register(NURSERY.close)


def start(
    spec: GatewaySpec,
    world_channel: socket.socket,
    listener: socket.socket | None,
    model_link: socket.socket | None = None,
) -> Gateway:
    """Start a gateway; the sockets are its own from here on. One that plays a script needs no listener.

    Raises:
        Unavailable: no process can be made.
    """
    ours, report = socket.socketpair()
    birth, reply = socket.socketpair()
    gateway = Gateway(ours, birth, scripted=spec.script is not None)
    try:
        with ExitStack() as stack:
            sockets = [end for end in (world_channel, report, reply, listener, model_link) if end is not None]
            for end in sockets:
                stack.enter_context(end)
            specification = stack.enter_context(os.fdopen(os.memfd_create("specification"), "w+b"))
            specification.write(spec.to_bytes())
            specification.seek(0)
            NURSERY.bear([specification.fileno(), *(end.fileno() for end in sockets)])
    except BaseException:
        gateway.kill()
        raise
    return gateway


class Gateway:
    """A gateway that runs, as its runner sees it.

    Args:
        report: the runner's end of the log.
        birth: where the process's handle comes from.
        scripted: whether it plays a script.
    """

    def __init__(self, report: socket.socket, birth: socket.socket, *, scripted: bool) -> None:
        self._report, self._birth, self._scripted = report, birth, scripted
        self._book = Book()
        self._changed = threading.Condition()
        self._gone = False
        self._pidfd: int | None = None
        self._thread = threading.Thread(target=self._keep_log, name="gateway-log", daemon=True)
        self._thread.start()

    def ready(self, timeout: float) -> None:
        """Wait until it listens, or plays its script.

        Raises:
            Lost: it did not come up in time.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._book.ready or self._gone, timeout)
            if not self._book.ready:
                raise Lost(f"the gateway did not come up within {timeout:g} s")

    def over(self) -> bool:
        """Say whether the session has ended, or the gateway is gone."""
        with self._changed:
            return self._book.ended is not None or self._gone

    def wait(self, timeout: float) -> bool:
        """Wait until the session is over, at most `timeout` seconds; say whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._book.ended is not None or self._gone, timeout)

    @property
    def lost(self) -> tuple[str, ...]:
        """The servers that did not come up, or died, as the gateway saw it."""
        with self._changed:
            return tuple(self._book.lost)

    @property
    def late(self) -> tuple[str, ...]:
        """The servers that did not come up or answer in time, as the gateway saw it; some may be lost by now."""
        with self._changed:
            return tuple(self._book.late)

    def finish(self, timeout: float) -> Transcript:
        """End the session (a script: wait for its end) and give what was seen; the process is gone afterwards."""
        if not self._scripted:
            with suppress(OSError):
                self._report.send(b"!")
        with self._changed:
            self._changed.wait_for(lambda: self._gone, timeout)
        self.kill()
        return self._book.transcript("gateway-lost")

    def kill(self) -> None:
        """Kill it and let go of everything; safe to call twice."""
        for end in (self._birth, self._report):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._thread.join(KILL_SECONDS)
        self._birth.close()
        self._report.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _keep_log(self) -> None:
        """Read until the log's end; runs in a thread of its own."""
        with suppress(OSError, Malformed):  # then what is kept stays, and the session never said that it ended
            _, handles, _, _ = socket.recv_fds(self._birth, 1, 1)
            self._pidfd = handles[0] if handles else None
            while data := self._report.recv(CHUNK):
                with self._changed:
                    self._book.feed(data)
                    self._changed.notify_all()
        with self._changed:
            self._gone = True
            self._changed.notify_all()


def listen(sockets: Path) -> socket.socket:
    """Make the socket that the relay connects to, in a run's own folder; whoever reaches that may use it.

    Raises:
        OSError: it cannot be made there.
    """
    path, listener = sockets / SOCKET_NAME, socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
