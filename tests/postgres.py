"""A PostgreSQL server for tests: a cluster in a temporary folder, on a socket in it, that ends with its parent."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from quarterturn.launcher.machine import find

from .accounting import count

NOBODY = 65534  # PostgreSQL refuses root
START = 120.0
ROOM = 2 << 30
HASTE = ("fsync=off", "full_page_writes=off", "autovacuum=off", "max_connections=200", "listen_addresses=")


class Server:
    """One running server; each test has a database of its own in it.

    Args:
        parent: the folder that its own is made in; None for one in memory where there is room.
    """

    def __init__(self, parent: Path | None = None) -> None:
        fast = Path("/dev/shm")
        roomy = fast.is_dir() and shutil.disk_usage(fast).free > ROOM
        self.folder = Path(tempfile.mkdtemp(prefix="quarterturn-pg-", dir=parent or (fast if roomy else "/tmp")))
        self._names = (f"d{number}" for number in itertools.count())
        self._used: list[str] = []
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        # a language's order of letters, not the bytes': nothing may depend on it
        order = ("--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
        made = [_program("initdb"), "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync", *order]
        subprocess.run(made, check=True, capture_output=True, cwd=self.folder, **_somebody())
        self.start()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [word for setting in (*HASTE, f"unix_socket_directories={self.folder}") for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_program("postgres"), "-D", self._data, *settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **_somebody(),
            )  # fmt: skip
        deadline = time.monotonic() + START
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                break
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it and all its connections at once."""
        self._process.send_signal(how)
        self._process.wait(START)

    def close(self) -> None:
        """End it and leave nothing."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Yield the address of an empty database; it is emptied and used again."""
        name = self._used.pop() if self._used else self._made()
        yield self.url(name)
        self.disconnect(name)
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        self._used.append(name)

    @contextmanager
    def copy(self, template: str) -> Iterator[str]:
        """Yield the address of a copy of the database at another address, to which nobody may be connected."""
        name = self._made(f" TEMPLATE {template.partition('?')[0].rpartition('/')[2]}")
        yield self.url(name)
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def make(self) -> str:
        """Return the address of an empty database that stays until the end."""
        return self.url(self._made())

    def _made(self, like: str = "") -> str:
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name}{like} STRATEGY FILE_COPY")
        count("databases")
        return name

    def disconnect(self, name: str) -> None:
        """End all connections to a database."""
        self.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


def _program(name: str) -> str:
    found = find(name)
    assert found is not None, "Debian's package postgresql is missing: `./run test --all` installs it"
    return found


def _somebody() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
