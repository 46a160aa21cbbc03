"""Runner's side of one reader or judge: starts it, sends one request, takes the reply, and cleans up."""

from __future__ import annotations

import select
import socket
import threading
import time
import weakref
from contextlib import suppress

from sandbox.errors import Malformed, SandboxError, Unavailable
from sandbox.isolation.forkserver import Child, ForkServer
from sandbox.judge import message

READERS, JUDGES = ("-m", "sandbox.judge.reader"), ("-m", "sandbox.judge.judge")
READER, JUDGE = ForkServer(*READERS), ForkServer(*JUDGES)
START_SECONDS = 60.0
"""How long a fork server may take to load and fork; none of it is the child's time."""
A_MOMENT = 0.001
"""Seconds in which a child that was forked long ago is seen to be there."""
CHUNK = 1 << 18


class JudgeFailed(SandboxError):
    """A reader or judge died, or sent an invalid reply."""


class JudgeLimitExceeded(SandboxError):
    """A reader or judge ran out of time or memory, which proves nothing about its input."""


class Started:
    """Child of a fork server that waits for its one request.

    Args:
        server: whose child it is.

    Raises:
        Unavailable: the fork server cannot be started.
    """

    def __init__(self, server: ForkServer) -> None:
        self._stream, theirs = socket.socketpair()
        try:
            with theirs:
                self._child = server.spawn([theirs.fileno()])
        except BaseException:
            self._stream.close()
            raise
        self.close = weakref.finalize(self, _let_go, self._stream, self._child)
        """End it; safe to call twice. One that was never asked goes with whoever kept it, or with this process."""

    def ask(self, request: bytes, cap: int, seconds: float) -> tuple[str, str, list[bytes]]:
        """Have it carry out its request, and give its reply (`message.reply`); it is gone afterwards.

        Args:
            request: as `message.pack` writes it.
            cap: bytes that a reply may have.
            seconds: by the wall clock, once it was forked.

        Raises:
            JudgeFailed: it died, or what it says is no reply.
            JudgeLimitExceeded: it did not end in time, or had too little memory.
            Unavailable: it was not forked.
        """
        try:
            if not self._child.wait_born(START_SECONDS):
                raise Unavailable(f"no reader or judge was forked within {START_SECONDS:g} s: this machine is too slow")
            reply = self._heard(request, cap, time.monotonic() + seconds)
        finally:
            self.close()
        try:
            outcome, says, parts = message.reply(reply)
        except Malformed as error:
            raise JudgeFailed(str(error)) from None
        if outcome == "memory":
            raise JudgeLimitExceeded("it had too little memory")
        return outcome, says, parts

    def waits(self) -> bool:
        """Say whether it still can be asked: it is being forked, or has not ended."""
        if not self._child.wait_born(A_MOMENT):
            return True
        return self._child.pidfd is not None and not select.select([self._child.pidfd], [], [], 0)[0]

    def _heard(self, request: bytes, cap: int, deadline: float) -> bytes:
        """Return all that it says, from when it has its request until its end."""
        received, rest = bytearray(), memoryview(message.framed(request))
        self._stream.settimeout(0)
        poll = select.poll()
        poll.register(self._stream, select.POLLIN | select.POLLOUT)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise JudgeLimitExceeded("it ran out of time")
            for _, events in poll.poll(left * 1000):
                try:
                    if events & select.POLLOUT:
                        rest = rest[self._stream.send(rest[:CHUNK]) :]
                    if not events & ~select.POLLOUT:
                        continue
                    data = self._stream.recv(CHUNK)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b""
                if not data:
                    return bytes(received)
                received += data
                if len(received) > cap:
                    raise JudgeFailed(f"its reply is longer than {cap} bytes")
            if not rest:
                poll.modify(self._stream, select.POLLIN)


def _let_go(stream: socket.socket, child: Child) -> None:
    stream.close()
    child.kill()
    child.close()


class Ready:
    """Pool of children of one fork server, one of which always waits, so that no verdict waits for a fork.

    Args:
        server: whose children they are.
    """

    def __init__(self, server: ForkServer) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._spare: Started | None = None

    def take(self) -> Started:
        """Return a child that nobody else has, and have the next one forked meanwhile.

        Raises:
            Unavailable: the fork server cannot be started.
        """
        with self._lock:
            spare, self._spare = self._spare, None
            child = spare if spare is not None and spare.waits() else Started(self.server)
            with suppress(Unavailable):
                self._spare = Started(self.server)
        return child

    def warm(self) -> None:
        """Have a child wait, and don't wait for it."""
        with self._lock, suppress(Unavailable):
            if self._spare is None:
                self._spare = Started(self.server)


def ask(server: ForkServer, request: bytes, cap: int, seconds: float) -> tuple[str, str, list[bytes]]:
    """Start a child and have it carry out one request; see `Started.ask`."""
    return Started(server).ask(request, cap, seconds)
