"""Spool of a runner: the folder in which each serving leaves its sealed hand-in, whatever becomes of the runner.

HANDLE.lock     there before its key is asked for; locked by the serving's supervisor while it lives. Its first line is
                the name of that process, and it has a second one once the agent is let go
HANDLE.sealed   what was left, sealed to the service; there as a whole, or not at all
HANDLE.stopped  there while no runner works here, because the last one was stopped in order during this serving
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from sandbox.errors import NotAllowed, Unavailable
from sandbox.runner_identity import runner_lives
from sandbox.servings.serving import require_handle
from vault.files import write_atomically

SpoolState = Literal["playing", "finished", "died", "cut-off", "unbegun"]
AGENT_STARTED = b"\nagent started\n"
NOTE_BYTES = 200
"""More than the name of a process has; the whole file is one block."""


class Spool:
    """The spool in one folder, which only we can enter.

    Args:
        folder: is made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Work with this spool as its only runner: another one would report what this one is about to start.

        Raises:
            NotAllowed: another runner works with it.
        """
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise NotAllowed(f"another runner works with the spool at {self.folder}: end it, or use another") from None
        finally:
            os.close(descriptor)

    def reserve(self, handle: str) -> None:
        """Note that a serving's key is about to be asked for: a runner that dies then can tell that nothing began.

        The note takes the room of what its supervisor will write there, which a disk that fills up then does not lack.

        Raises:
            Unavailable: the disk takes nothing.
        """
        try:
            self._lock_path(handle).write_bytes(b"\n" * NOTE_BYTES)
        except OSError as error:
            raise Unavailable(f"the spool at {self.folder} cannot be written: {error.strerror}") from None

    def lock(self, handle: str) -> int:
        """Begin a serving, and return its locked file: it stays locked until each process that has it has closed it.

        Raises:
            NotAllowed: the serving has begun already.
        """
        descriptor = os.open(self._lock_path(handle), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise NotAllowed(f"serving {handle} is being played already") from None
        return descriptor

    @staticmethod
    def record_agent_start(lock: int) -> None:
        """Record in a locked file, on the disk, that the agent is let go: what ends from now on may be its doing."""
        os.pwrite(lock, AGENT_STARTED, os.fstat(lock).st_size)
        os.fsync(lock)

    def keep(self, handle: str, sealed: bytes) -> None:
        """Keep what a serving left; it is on the disk, whole, when this returns."""
        path = self._sealed_path(handle)
        write_atomically(path, sealed, path.with_suffix(".new"))

    def states(self) -> Mapping[str, SpoolState]:
        """Return how each serving stands.

        `playing`; `finished`, with a sealed hand-in; or without one: `unbegun`, if its agent was never let go,
        `cut-off`, if its supervisor ended while no runner worked here (`note_stop`), else `died`.
        """
        return {path.stem: self._state(path.stem) for path in sorted(self.folder.glob("*.lock"))}

    def _state(self, handle: str) -> SpoolState:
        with self._lock_path(handle).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return "playing"
            if self._sealed_path(handle).is_file():
                return "finished"
            if AGENT_STARTED not in file.read():
                return "unbegun"
            return "cut-off" if self._stop_path(handle).exists() else "died"

    def note_stop(self) -> None:
        """Note that the runner is stopped in order: a container or a machine that ends now takes supervisors with it.

        No agent can bring that about, so what is cut off then is served again. A full disk takes no note.
        """
        for handle, state in self.states().items():
            if state == "playing":
                with suppress(OSError):
                    self._stop_path(handle).touch()

    def note_start(self) -> None:
        """Note that a runner works here: a supervisor that ends without a hand-in now may be killed by its agent."""
        for handle, state in self.states().items():
            if state == "playing":
                self._stop_path(handle).unlink(missing_ok=True)

    def open(self, handle: str) -> BinaryIO:
        """Open what a finished serving left, still sealed."""
        return self._sealed_path(handle).open("rb")

    def end(self, handle: str) -> None:
        """Ask the supervisor of a serving to end it; what was left is kept then as at any other end."""
        name = self._lock_path(handle).read_text(encoding="ascii").partition("\n")[0]
        if name and runner_lives(name):
            with suppress(ProcessLookupError):
                os.kill(int(name.split(":")[2]), signal.SIGTERM)

    def remove(self, handle: str) -> None:
        """Forget a serving that was handed in, or reported."""
        sealed = self._sealed_path(handle)
        for path in (sealed, sealed.with_suffix(".new"), self._stop_path(handle), self._lock_path(handle)):
            path.unlink(missing_ok=True)

    def _lock_path(self, handle: str) -> Path:
        return self.folder / f"{require_handle(handle)}.lock"

    def _sealed_path(self, handle: str) -> Path:
        return self.folder / f"{require_handle(handle)}.sealed"

    def _stop_path(self, handle: str) -> Path:
        return self.folder / f"{require_handle(handle)}.stopped"
