"""Measures what verbs cost that compute nothing: the processor time of their whole process.

Each stands beside a Python that does nothing and ends, and so do the two libraries that every home's database needs.
The home is the demo's, without a passphrase, so what is measured is what every call pays.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from measure import Side, interleave, timed
from report import Failed, Found, Line

ROUNDS = 7
WITHOUT_A_HOME = ("--version", "--help", "task list --help", "server list")
LIBRARIES = ("sqlalchemy", "sqlmodel")
WITH_A_HOME = ("task list", "turn status", "turn plan", "leaderboard", "access log", "keys list", "doctor")
PROGRAM = Path(sys.prefix) / "bin" / "quarterturn"


def bench(rounds: int = 0) -> Found:
    """Run each verb in turns with `python3 -c pass`."""
    rounds = rounds or ROUNDS
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        home = str(Path(folder) / "home")
        _run([str(PROGRAM), "demo", "--home", home])
        commands = {f"import {name}": [sys.executable, "-c", f"import {name}"] for name in LIBRARIES}
        commands |= {verb: [str(PROGRAM), *verb.split()] for verb in WITHOUT_A_HOME}
        commands |= {f"{verb} --home": [str(PROGRAM), *verb.split(), "--home", home] for verb in WITH_A_HOME}
        floor = _side([sys.executable, "-c", "pass"])
        lines = [
            Line(name, "`python3 -c pass`", interleave(_side(command), floor, rounds))
            for name, command in commands.items()
        ]
    return Found(
        "Verbs that compute nothing, beside a Python that does nothing; processor time of whole processes.", lines
    )


def _side(command: Sequence[str]) -> Side:
    return timed(partial(_run, command), clock=_children)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 8}:  # the demo's home has findings, and too few tasks for another turn
        raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-200:]}")


def _children() -> float:
    """Return the processor seconds of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
