"""The runner's side of a gateway: starts the process, keeps its log, and ends it.

    1. the specification goes into an anonymous file in memory;
    2. the listening socket is made here, so that the gateway needs no file system;
    3. the fork server makes a process that has these and the world's channel, and nothing of the runner's;
    4. a thread of ours reads the log as it comes and checks every byte of it.

A gateway that dies, stalls or sends invalid data is a fact about the run (`gateway-lost`), never an exception.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from sandbox.boxes.box import SOCKET_NAME
from sandbox.errors import Lost, Malformed
from sandbox.gateway.log_protocol import GatewayLog
from sandbox.gateway.spec import GatewaySpec
from sandbox.isolation.forkserver import Child, ForkServer
from sandbox.transcript import Transcript

CHUNK = 64 * 1024
BACKLOG = 64
KILL_SECONDS = 5.0
FORK_SERVER = ForkServer("-m", "sandbox.gateway.forkserver")


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
    with ExitStack() as stack:
        given = [end for end in (listener, model_link) if end is not None]
        for end in (world_channel, *given):
            stack.enter_context(end)
        ours, report = socket.socketpair()
        stack.enter_context(report)
        specification = stack.enter_context(os.fdopen(os.memfd_create("specification"), "w+b"))
        specification.write(spec.to_bytes())
        specification.seek(0)
        theirs = [specification.fileno(), world_channel.fileno(), report.fileno(), *(end.fileno() for end in given)]
        try:
            child = FORK_SERVER.spawn(theirs)
        except BaseException:
            ours.close()
            raise
    return Gateway(ours, child, scripted=spec.script is not None)


class Gateway:
    """Running gateway process, from its runner's side.

    Args:
        report: the runner's end of the log.
        child: its process.
        scripted: whether it plays a script.
    """

    def __init__(self, report: socket.socket, child: Child, *, scripted: bool) -> None:
        self._report, self.child, self._scripted = report, child, scripted
        self._book = GatewayLog()
        self._changed = threading.Condition()
        self._gone = False
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

    @property
    def missed(self) -> frozenset[str]:
        """The servers that were lost or late."""
        return frozenset((*self.lost, *self.late))

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
        with suppress(OSError):
            self._report.shutdown(socket.SHUT_RDWR)
        self.child.kill()
        self._thread.join(KILL_SECONDS)
        self._report.close()
        self.child.close()

    def _keep_log(self) -> None:
        """Read until the log's end; runs in a thread of its own."""
        with suppress(OSError, Malformed):  # then what is kept stays, and the session never said that it ended
            self.child.wait_born()
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
