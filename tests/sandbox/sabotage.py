"""What is done to a run from outside at the right moment: while its agent waits, however long it took to come there."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
from collections.abc import Callable
from pathlib import Path

MARK = f"waits-{secrets.token_hex(8)}"
WAIT = f"""
import subprocess, sys

print("waiting", flush=True)
subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", "{MARK}"], check=False)
"""
"""An agent's lines: it waits until it is taken down, or its sleeper is killed."""


def waiting() -> list[int]:
    """Find the sleepers of the agents that wait, in whatever place."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


class Saboteur:
    """Does something, once, as soon as an agent waits and it can be done; agents that wait later go on at once.

    Args:
        deed: what is done; it says whether it was.
        goes_on: whether the agent that waited goes on after it too. Else the runner has to notice what was done.
    """

    def __init__(self, deed: Callable[[], bool], *, goes_on: bool = False) -> None:
        self.done, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(deed, goes_on))

    def _run(self, deed: Callable[[], bool], goes_on: bool) -> None:
        kept: set[int] = set()
        while not self._stop.wait(0.1):
            found = set(waiting())
            if not self.done.is_set():
                if found and deed():
                    self.done.set()
                    kept = set() if goes_on else found
                continue
            for pid in found - kept:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Saboteur:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self.done.is_set(), "nothing was sabotaged, so nothing was shown"
