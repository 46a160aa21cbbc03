"""Work in forked child processes, and gates at which processes wait for each other.

A child has all modules that this process has imported, so it costs next to nothing. A process that forks one has no
database open that the child opens too: SQLite would confuse the locks of the two.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class ChildResult:
    """Exit code and output of a child, and the changes that a struck verb reported."""

    code: int
    text: str
    struck: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The last line."""
        return self.text.strip().rpartition("\n")[2]


class Child:
    """Work in a forked process; calling it waits for its end.

    Args:
        work: the work; its answer is the exit status, 99 if it raises.
        strike: makes what strikes it, given the descriptor of a file to tell it in, or None.
    """

    def __init__(self, work: Callable[[], int | None], strike: Callable[[int], object] | None = None) -> None:
        self._out, self._tell = os.memfd_create("out"), os.memfd_create("told")
        self.pid = os.fork()
        if self.pid == 0:
            code: int | None = 99
            try:
                os.dup2(self._out, 1)
                os.dup2(self._out, 2)
                sys.stdout, sys.stderr = (os.fdopen(os.dup(self._out), "w", buffering=1) for _ in range(2))
                if strike:
                    strike(self._tell)
                code = work()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                sys.stdout.flush()
                os._exit(code or 0)

    @property
    def reported(self) -> tuple[str, ...]:
        return tuple(os.pread(self._tell, os.fstat(self._tell).st_size, 0).decode().splitlines())

    def wait(self) -> ChildResult | None:
        """Wait until the child stops (None) or ends."""
        status = os.waitpid(self.pid, os.WUNTRACED)[1]
        if os.WIFSTOPPED(status):
            return None
        said = os.pread(self._out, os.fstat(self._out).st_size, 0).decode()
        found = ChildResult(os.waitstatus_to_exitcode(status), said, self.reported)
        os.close(self._out)
        os.close(self._tell)
        return found

    def __call__(self) -> ChildResult:
        """Wait for the child's end."""
        said = self.wait()
        assert said is not None
        return said

    def kill(self) -> ChildResult:
        """End the process as a power loss does."""
        os.kill(self.pid, signal.SIGKILL)
        return self()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Gate:
    """Holds processes that wait at it until as many are let through; made before they are forked."""

    def __init__(self) -> None:
        self._near, self._far = os.pipe()

    def wait(self) -> None:
        """Wait to be let through."""
        os.read(self._near, 1)

    def open(self, count: int = 1) -> None:
        os.write(self._far, b"!" * count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._near)
        os.close(self._far)
