"""The Redis server of one world: `service.py keep` or `service.py read`. Standard library only.

Both work in the current folder, which holds either `seed.json` alone (nobody has asked for Redis yet) or what Redis
wrote down, `dump.rdb`.

- `keep` starts Redis on the world's loopback, loads the seed, removes it, writes down when that was (`started`), says
  `ready` and keeps Redis up until SIGTERM, when it writes everything down. The MCP server's user can neither administer
  it nor run scripts in it.
- `read` starts Redis on a unix socket on what was written down, or with the seed, and writes every key as one JSON
  document (`verifiers.states.redis.keys`). What was written down may be hostile; no configuration of it is read.
"""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # in a world it has no package around it

from sandbox.kinds.common.backend.program import (
    START_SECONDS,
    BackendFailed,
    OutputTooLarge,
    answer,
    await_up,
    installed,
    run,
    serve,
    stop,
)

PROGRAMS = ("redis-server", "redis-check-rdb")  # Debian's redis-tools has the server under its other name only
SOCKET = "/tmp/redis.sock"  # noqa: S108 - a world's own
PORT = 6379
MAX_OUTPUT = 32 << 20
PAGE = 500
MILLISECOND = 1_000_000  # nanoseconds
STARTED = Path("started")
USER = "default on nopass ~* &* +@all -@admin -@dangerous -@scripting +info +keys +client|list"
SETTINGS = {
    "dir": ".",
    "dbfilename": "dump.rdb",
    "save": "3600 1000000000",  # in truth only when it ends
    "rdbcompression": "no",
    "appendonly": "no",
    "databases": "1",
    "maxmemory": "64mb",
    "maxmemory-policy": "noeviction",
    "logfile": "/dev/null",
    "daemonize": "no",
    "user": USER,
}
READING = SETTINGS | {
    "save": '""',
    "port": "0",
    "unixsocket": SOCKET,
    "maxmemory": "0",
    "user": "default on nopass ~* &* +@all",
}
KEEPING = SETTINGS | {"port": str(PORT), "bind": "127.0.0.1", "unixsocket": SOCKET}
LOAD = {"strings": "SET", "lists": "RPUSH", "sets": "SADD", "hashes": "HSET", "sorted_sets": "ZADD"}
LOOK: Mapping[str, tuple[str, ...]] = {
    "string": ("GET",),
    "list": ("LRANGE", "0", "-1"),
    "set": ("SMEMBERS",),
    "hash": ("HGETALL",),
    "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}


class Redis:
    """A server that was started here, and a connection to it (the RESP protocol, version 2)."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "-"], executable=installed(PROGRAMS), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        with self.process.stdin as configuration:
            configuration.write("".join(f"{name} {value}\n" for name, value in settings.items()).encode())
        self.left = MAX_OUTPUT
        await_up(self.process, self.connect)

    def connect(self) -> bool:
        """Connect, and say whether it has loaded what there is."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(START_SECONDS)
                connection.connect(SOCKET)
                self.stream: io.BufferedRWPair = connection.makefile("rwb")
            self.ask("PING")
        except (OSError, BackendFailed):
            return False
        return True

    def ask(self, *words: str) -> Any:
        """Carry out one command."""
        self.send(words)
        self.stream.flush()
        return self.reply()

    def send(self, words: Sequence[str]) -> None:
        """Write one command."""
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]
        self.stream.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(e), e) for e in encoded))

    def reply(self) -> Any:
        """Read one reply: a text, a number, None or a list of those.

        Raises:
            BackendFailed: it is an error, or the connection was cut.
            OutputTooLarge: all replies together are more than MAX_OUTPUT bytes.
        """
        line = self.stream.readline(1 << 16)
        kind, rest = line[:1], line[1:].rstrip(b"\r\n")
        if kind in {b"", b"-"}:
            raise BackendFailed(rest.decode("utf-8", "replace"))
        if kind == b"+":
            return rest.decode()
        number = int(rest)
        if kind == b":":
            return number
        self.left -= max(number, 0) + len(line)
        if self.left < 0:
            raise OutputTooLarge
        if number < 0:
            return None
        if kind == b"*":
            return [self.reply() for _ in range(number)]
        return self.stream.read(number + 2)[:-2].decode("utf-8", "surrogateescape")


def load(redis: Redis, state: Mapping[str, Mapping[str, Any]]) -> None:
    """Load a seed."""
    for part, keys in state.items():
        for key, value in keys.items():
            redis.ask(LOAD[part], key, *flat(value))


def flat(value: Any) -> Iterator[str]:
    """Yield a value as the words that a command takes; a sorted set's scores come before their members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from value
    else:
        for left, right in value.items():
            yield from (left, right) if isinstance(right, str) else (repr(right), left)


def started(settings: Mapping[str, str]) -> Redis:
    """Start it on what is in the folder; a dump beside a seed is of one that was never ready."""
    seed, dump = Path("seed.json"), Path("dump.rdb")
    if seed.exists():
        dump.unlink(missing_ok=True)
    elif not dump.is_file():
        raise BackendFailed("there is neither a seed nor a dump")
    redis = Redis(settings)
    if seed.exists():
        load(redis, json.loads(seed.read_text(encoding="utf-8")))
    return redis


def keep() -> None:
    """Keep Redis up until somebody ends us."""
    redis: Redis | None = None
    try:
        redis = started(KEEPING)
        Path("seed.json").unlink(missing_ok=True)
        if not STARTED.exists():
            STARTED.write_text(str(time.time_ns() // MILLISECOND), encoding="ascii")
        redis.stream.close()
        serve(redis.process)
    finally:
        if redis is not None:
            stop(redis.process)  # it writes down what it holds


def read() -> None:
    """Write every key as a JSON document."""
    redis = started(READING)
    try:
        document: dict[str, Any] = {"keys": {key: entry(redis, key) for key in sorted(keys(redis))}}
        if STARTED.is_file():  # no key that was given a time to live has lost more of it
            document["passed"] = time.time_ns() // MILLISECOND - int(STARTED.read_text(encoding="ascii"))
    except OutputTooLarge:
        document = {"wreckage": f"what Redis holds is more than {MAX_OUTPUT} bytes"}
    finally:
        redis.process.kill()
        redis.process.wait()
    answer(document)


def keys(redis: Redis) -> set[str]:
    """Return the names of all keys."""
    names: set[str] = set()
    cursor = "0"
    while True:
        cursor, page = redis.ask("SCAN", cursor, "COUNT", str(PAGE))
        names.update(page)
        if cursor == "0":
            return names


def entry(redis: Redis, key: str) -> dict[str, Any]:
    """Return one key's type, its value, and the milliseconds that are left to it."""
    kind = redis.ask("TYPE", key)
    left = redis.ask("PTTL", key)
    command, *options = LOOK.get(kind, ("",))
    value = redis.ask(command, key, *options) if command else None
    return {"type": kind, "value": shaped(kind, value), "left": left if left >= 0 else None}


def shaped(kind: str, value: Any) -> Any:
    """Return a reply the form that suits its type."""
    if kind in {"hash", "zset"}:
        return dict(pairs(value))
    if kind == "stream":
        return [[number, list(map(list, pairs(fields)))] for number, fields in value]
    return sorted(value) if kind == "set" else value


def pairs(flat_list: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return the items of a list two by two."""
    items = iter(flat_list)
    return zip(items, items, strict=True)


if __name__ == "__main__":
    sys.exit(run({"keep": keep, "read": read}, sys.argv[1:]))
