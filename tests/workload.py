"""Fixed workload that a run times beside its tests: what a room costs is a multiple of it, on any machine.

It does what tests do: compile, write and read JSON, hash, keep rows, and start a process. A slow or busy machine takes
longer for both, so their ratio stays. Workers play it when they begin and again and again between their tests.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence

PLAYS_IN_A_UNIT = 10
"""So many plays are one unit, which is about a second of a processor of the year 2024."""
SECONDS_BETWEEN_PLAYS = 20.0
"""Of a worker's processor time; a play is less than a tenth of a second, so half a percent of the run."""
ROWS = 1500


def processor_seconds() -> float:
    """Return what this process and its children that have ended used so far."""
    used = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def unit_of(plays: Sequence[float]) -> float:
    """Return the processor seconds of a unit: the mean of the middle half of the plays, since some meet a stall."""
    half = sorted(plays)[len(plays) // 4 : len(plays) - len(plays) // 4]
    return sum(half) / len(half) * PLAYS_IN_A_UNIT


def play(clock: Callable[[], float] = processor_seconds) -> float:
    """Do the work once, and return the processor seconds that it took."""
    began = clock()
    compile(ast.parse(_SOURCE), "workload", "exec")
    rows = [{"id": number, "name": f"row {number}", "marks": [number % 7, None, True]} for number in range(ROWS)]
    for _ in range(5):
        rows = json.loads(json.dumps(rows, sort_keys=True))
    digest = b""
    for row in rows:
        for _ in range(8):
            digest = hashlib.sha256(digest + str(row).encode()).digest()
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT UNIQUE, marks TEXT)")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", [(row["id"], row["name"], str(row)) for row in rows])
        for row in rows:
            database.execute("SELECT marks FROM rows WHERE name = ?", [row["name"]]).fetchone()
    database.close()
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return clock() - began


_SOURCE = inspect.getsource(subprocess)
