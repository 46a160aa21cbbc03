"""Runs a Python program with a wall clock that stands still and with random values that are the same each time.

    python [options] frozen.py (-c CODE | -m MODULE | SCRIPT) [arguments]

`QUARTERTURN_FREEZE` says what stands still: `{"clock": "2026-03-02T09:00:00Z", "ids": true}`. Wall clock: `time`,
`datetime`, and what SQLite takes for now. Random: `os.urandom`, `random`, `secrets`, `uuid`. Monotonic clocks go on, so
timeouts and sleeps work. Standard library only; nothing of ours is installed beside it.

It serves reproducible tasks and isolates nothing: a program that asks the kernel itself gets the real clock.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import os
import random
import runpy
import sqlite3  # before `datetime` is replaced: its adapters are for the real classes
import sys
import time
import types
import uuid
from collections.abc import Callable
from datetime import date as RealDate  # noqa: N812 - classes, whatever they are called
from datetime import datetime as RealDatetime  # noqa: N812
from pathlib import Path
from typing import Any

_DATES = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_KEYWORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}


def stop_clock(now: datetime.datetime) -> None:
    """Let every wall clock show one moment.

    Args:
        now: aware of its time zone.
    """
    seconds = now.timestamp()
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime", "strftime", "asctime")}
    time.time = lambda: seconds
    time.time_ns = lambda: int(seconds) * 10**9
    time.gmtime = lambda at=None: real["gmtime"](seconds if at is None else at)
    time.localtime = lambda at=None: real["localtime"](seconds if at is None else at)
    time.ctime = lambda at=None: real["ctime"](seconds if at is None else at)
    time.strftime = lambda form, at=None: real["strftime"](form, time.localtime() if at is None else at)
    time.asctime = lambda at=None: real["asctime"](time.localtime() if at is None else at)
    _stop_datetime(now)
    _stop_sqlite(now.strftime("%Y-%m-%d %H:%M:%S"))


def repeat_random() -> None:
    """Let random values come from one fixed stream, call by call."""
    number = itertools.count()

    def urandom(size: int) -> bytes:
        return hashlib.shake_256(f"quarterturn/random/v1 {next(number)}".encode()).digest(size)

    real_seed = random.Random.seed

    def seed(self: random.Random, value: Any = None, version: int = 2) -> None:
        real_seed(self, int.from_bytes(urandom(32)) if value is None else value, version)

    os.urandom = random._urandom = urandom  # type: ignore[attr-defined]
    random.Random.seed = seed  # type: ignore[method-assign, assignment]
    random.seed(0)
    uuid._generate_time_safe = None  # type: ignore[attr-defined] # libuuid would ask the kernel itself


def _stop_datetime(now: datetime.datetime) -> None:
    """Replace the two classes by faces of themselves; what they make is of the real classes."""

    class _Moment(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, cls.__mro__[1])

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, cls.__mro__[1])

    class Datetime(RealDatetime, metaclass=_Moment):
        def __new__(cls, *args: Any, **names: Any) -> Any:
            return RealDatetime.__new__(RealDatetime if cls is Datetime else cls, *args, **names)

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return now.astimezone(tz) if tz else now.astimezone().replace(tzinfo=None)

        @classmethod
        def utcnow(cls) -> Any:
            return now.astimezone(datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class Date(RealDate, metaclass=_Moment):
        def __new__(cls, *args: Any, **names: Any) -> Any:
            return RealDate.__new__(RealDate if cls is Date else cls, *args, **names)

        @classmethod
        def today(cls) -> Any:
            return now.astimezone().date()

    for face, name in ((Datetime, "datetime"), (Date, "date")):
        face.__name__ = face.__qualname__ = name
        face.__module__ = "datetime"
        setattr(datetime, name, face)


def _stop_sqlite(now: str) -> None:
    """Let connections take `now` for now in SQLite's own functions of dates, `CURRENT_TIMESTAMP` among them."""
    connect = sqlite3.connect
    plain = connect(":memory:", check_same_thread=False)

    def evaluated(name: str) -> Callable[..., Any]:
        at = 1 if name == "strftime" else 0  # where the moment is among the arguments

        def function(*values: Any) -> Any:
            given = list(values) if len(values) > at else [*values, "now"]
            if isinstance(given[at], str) and given[at].lower() == "now":
                given[at] = now
            (answer,) = plain.execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()
            return answer

        return function

    def connected(*args: Any, **names: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **names)
        for name in _DATES:
            connection.create_function(name, -1, evaluated(name), deterministic=True)
        for keyword, name in _KEYWORDS.items():
            connection.create_function(keyword, 0, evaluated(name))
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = connected  # type: ignore[assignment]


def run(words: list[str]) -> None:
    """Become the program that the words name, as the interpreter would: `-c CODE`, `-m MODULE` or a script."""
    first, rest = words[0], words[1:]
    if not sys.flags.safe_path:
        sys.path[0] = "" if first in {"-c", "-m"} else str(Path(first).parent)
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)  # noqa: S102 - as `python -c` does
    else:
        sys.argv = words
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    freeze = json.loads(os.environ["QUARTERTURN_FREEZE"])
    if "clock" in freeze:
        stop_clock(datetime.datetime.fromisoformat(freeze["clock"]))
    if freeze.get("ids"):
        repeat_random()
    run(sys.argv[1:])
