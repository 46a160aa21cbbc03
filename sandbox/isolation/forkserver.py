"""Fork servers, from the runner's side: clean processes that gateways, readers and judges are forked from.

A fork server is executed and not forked from the runner, with an environment of two words, so that neither it nor any
child of it ever had a key. It loads what its children need once; each of them then costs a few milliseconds
(`sandbox.isolation.forking` is the loop that runs in it).
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
from contextlib import suppress

from sandbox.errors import Unavailable

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


class ForkServer:
    """One fork server, started when it is first needed, and restarted if it has died.

    Args:
        program: what follows `python -I`: `-m` and a module that calls `sandbox.isolation.forking.serve`.
    """

    def __init__(self, *program: str) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0
        atexit.register(self.close)

    def warm(self) -> None:
        """Start it if it does not run, and don't wait: it loads while other things are made ready."""
        with self._lock:
            self._running()

    def spawn(self, descriptors: Sequence[int]) -> Child:
        """Ask for a child that has these descriptors; they stay the caller's to close.

        Raises:
            Unavailable: the fork server cannot be started.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                given = [theirs.fileno(), *descriptors]
                try:
                    socket.send_fds(self._running(), [b"!"], given)
                except OSError:
                    if self._owner == os.getpid() or self._control is None:
                        raise
                    self._control.close()  # that of another process has ended
                    self._control = None
                    socket.send_fds(self._running(), [b"!"], given)
        except OSError as error:
            ours.close()
            raise Unavailable(f"no process can be forked: {error}; its program is {self._program[1][:80]}") from error
        return Child(ours)

    def share(self) -> int:
        """Return the descriptor through which a process that is executed with it may use this fork server (`adopt`)."""
        with self._lock:
            return self._running().fileno()

    def adopt(self, descriptor: int) -> None:
        """Use the fork server of another process; where that ends, one of its own is started."""
        self._control = socket.socket(fileno=descriptor)

    @property
    def pid(self) -> int | None:
        """Return its process's number, or None where there is none."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End it, with all its children that live."""
        with self._lock:
            if self._control is not None and self._process is not None:
                self._control.close()
                if self._owner == os.getpid():
                    self._process.kill()
                    self._process.wait()
            self._control = self._process = None

    def _running(self) -> socket.socket:
        if self._control is not None:
            # Who was forked from its owner shares it, and cannot ask whether it lives: sending to it tells.
            if self._owner != os.getpid() or (self._process is not None and self._process.poll() is None):
                return self._control
            self._control.close()
        self._process, self._control = start_clean(*self._program)
        self._owner = os.getpid()
        return self._control


def start_clean(*program: str, pass_fds: Sequence[int] = ()) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Execute a program of ours that gets nothing of this process, and return it with its control socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", *program],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a traceback in there might quote a task, or a key
            pass_fds=pass_fds,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    return process, ours


class Child:
    """Child of a fork server, held by its pidfd.

    Args:
        birth: where the pidfd comes from.
    """

    def __init__(self, birth: socket.socket) -> None:
        self._birth = birth
        self.pidfd: int | None = None

    def wait_born(self, timeout: float | None = None) -> bool:
        """Wait until it was forked, and say whether that was so within `timeout` seconds; `kill` ends the wait.

        One that has ended already has no pidfd any more.
        """
        if self.pidfd is None:
            self._birth.settimeout(timeout)
            try:
                _, handles, _, _ = socket.recv_fds(self._birth, 1, 1)
            except TimeoutError:
                return False
            except OSError:
                handles = []
            self.pidfd = handles[0] if handles else None
        return True

    def kill(self) -> None:
        """End it, if it was forked."""
        with suppress(OSError):
            self._birth.shutdown(socket.SHUT_RDWR)
        if self.pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Let go of it; safe to call twice."""
        self._birth.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
