"""Launcher output and subprocesses: one line a step, and one sentence when it must stop.

Only standard error is written: standard output belongs to the program that the launcher starts.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

NO, MALFORMED, UNAVAILABLE, INTERRUPTED = 1, 2, 6, 130  # of the command line's table of exit codes
KEPT = 4000  # characters of a failed program's output that are worth showing


class Stop(Exception):
    """The launcher cannot go on; the message says what is missing and what to do.

    Attributes:
        code: the exit code.
    """

    def __init__(self, message: str, code: int = UNAVAILABLE) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """Print a step."""
    sys.stderr.write(f"· {text}\n")
    sys.stderr.flush()


def complain(text: str) -> None:
    """Print why the launcher stops."""
    sys.stderr.write(f"run: {text}\n")


@contextlib.contextmanager
def stop_said(consequence: str, *, unless: bool) -> Iterator[None]:
    """Say why the block stopped, and what follows from it, and go on; `unless` it must not stop."""
    try:
        yield
    except Stop as stop:
        if unless:
            raise
        say(f"{stop}; {consequence}")


def carry_out(
    command: Sequence[str | Path], what: str, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a program that should not be heard unless it fails, and give its standard output.

    Raises:
        Stop: it could not be started, or failed; its last words are in the message.
    """
    try:
        done = _run(command, env=env, cwd=cwd)
    except OSError as error:
        message = f"{what} failed: {command[0]} could not be started ({error.strerror})"
        raise Stop(message) from error
    if done.returncode:
        printed = f"{done.stdout}{done.stderr}".strip()[-KEPT:]
        message = f"{what} failed: {command[0]} ended with status {done.returncode} and said:\n{printed}"
        raise Stop(message)
    return done.stdout


def answer(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str | None:
    """Return what a program prints, or None where there is no such program or it fails."""
    try:
        done = _run(command, env=env, cwd=cwd)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def output(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> str:
    """Return what a program prints, whatever its status; nothing where it cannot be started."""
    try:
        return _run(command, env=env).stdout
    except OSError:
        return ""


def _run(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
