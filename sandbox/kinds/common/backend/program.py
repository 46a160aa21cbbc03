"""Shared part of the programs that keep a backend: verbs, the end on SIGTERM, and the process that is kept up.

Standard library only: it lies in a world beside the programs that use it. An exit status other than 0 means that there
is no result, for whatever reason.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NoReturn

START_SECONDS, STOP_SECONDS = 30.0, 12.0


class BackendFailed(Exception):
    """The backend is not installed, does not come up, ends by itself, or refuses something."""


class OutputTooLarge(Exception):
    """There is more than anybody looks at."""


def run(verbs: Mapping[str, Callable[..., None]], words: Sequence[str]) -> int:
    """Carry out the verb that a command line begins with, and give the exit status; 2 where there is no such verb.

    SIGTERM ends it. A failure is named by its class alone: its text may quote a task.
    """
    signal.signal(signal.SIGTERM, _end)
    if not words or words[0] not in verbs:
        return 2
    try:
        verbs[words[0]](*words[1:])
    except Exception as error:  # the state may be hostile, and any failure is no result
        sys.stderr.write(f"{type(error).__name__}\n")
        return 1
    return 0


def installed(names: Sequence[str]) -> str:
    """Return the path of the first of these programs that is installed.

    Raises:
        BackendFailed: none is.
    """
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise BackendFailed(f"none of {', '.join(names)} is installed")
    return path


def await_up(process: subprocess.Popen[bytes], is_up: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Wait until a process is up.

    Raises:
        BackendFailed: it ended, or it took longer than that.
    """
    deadline = time.monotonic() + seconds
    while not is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            raise BackendFailed("it did not come up")
        time.sleep(0.005)


def serve(process: subprocess.Popen[bytes]) -> None:
    """Say that the server may start, and keep the process up until SIGTERM.

    Raises:
        BackendFailed: it ended by itself, with an error.
    """
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if process.wait():
        raise BackendFailed("it ended by itself")


def stop(process: subprocess.Popen[bytes], ask: int = signal.SIGTERM, force: int = signal.SIGKILL) -> None:
    """Ask a process to end, and force it after STOP_SECONDS."""
    process.send_signal(ask)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(force)
        process.wait(STOP_SECONDS)


def answer(document: Mapping[str, Any]) -> None:
    """Write what was read, as the one JSON document of the standard output."""
    sys.stdout.write(json.dumps(document))
    sys.stdout.flush()


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt what is written down
    sys.exit(0)
