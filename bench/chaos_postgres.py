"""Plays the outages of `chaos` on PostgreSQL, and four of the database itself: 32 submissions by default.

Its data lie on a small file system in memory, so that it can be filled; its socket is in the same folder.
"""

from __future__ import annotations

import importlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from chaos import (
    DISTURBANCES,
    DOWN_SECONDS,
    LOCKED_SECONDS,
    OUTAGE_SECONDS,
    ROOT,
    Disturbance,
    fill,
    play_outages,
    small_disk,
)
from report import Found, Missing

from quarterturn.launcher.machine import find

ROUNDS = 2
DISK_MIB = 320  # the cluster takes 80 MiB of it
WRITERS_LOCK = 0x7175617274657274  # `vault.database`


def bench(rounds: int) -> Found:
    """Play each disturbance, and `kill -9`, stop, lock and fill the database."""
    with database_server() as server:
        url = server.make()
        disturbances = (
            *DISTURBANCES,
            Disturbance("database killed", lambda _: _stop(server, signal.SIGKILL, DOWN_SECONDS)),
            Disturbance("database away", lambda _: _stop(server, signal.SIGINT, OUTAGE_SECONDS)),
            Disturbance("database locked", lambda _: _lock(url)),
            Disturbance("database's disk full", lambda _: _fill(server)),
        )
        return play_outages(rounds or ROUNDS, disturbances, url)


@contextmanager
def database_server() -> Iterator[Any]:
    """Yield a server of the tests on a disk of its own, which writes to it as a service's does."""
    if find("postgres") is None:
        raise Missing("Debian's package postgresql is missing: install it")
    sys.path.append(str(ROOT))
    servers = importlib.import_module("tests.postgres")
    servers.HASTE = ("max_connections=200", "max_wal_size=64MB", "listen_addresses=")
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        Path(folder).chmod(0o755)
        disk = Path(folder) / "rows"
        with small_disk(disk, DISK_MIB):
            disk.chmod(0o755)
            with closing(servers.Server(disk)) as server:
                yield server


def _stop(server: Any, how: signal.Signals, seconds: float) -> None:
    server.stop(how)
    time.sleep(seconds)
    server.start()


def _lock(url: str) -> None:
    """Hold the lock of all writers for longer than a transaction waits."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [WRITERS_LOCK])
        time.sleep(LOCKED_SECONDS)


def _fill(server: Any) -> None:
    """Fill its disk; where that ended the server, start it again, as a unit or a container engine does."""
    fill(server.folder)
    with suppress(psycopg.OperationalError):
        server.execute("SELECT 1")
        return
    server.start()
