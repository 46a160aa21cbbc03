"""The part of the suite that runs inside an agent's place: network, kernel, files, resources.

`sandbox.probes` runs there as if it had been submitted, with the relay and a gateway's socket at which nothing but a
fixed answer is to be had; what it printed is turned into attempts. The first of them is the egress canary. Those that
may bring down their place have one of their own (`sandbox.selfcheck.apart`). What did not run to its end, or could not
reach its relay, proves nothing and is an error, never a pass.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.box import SOCKET_NAME, Box, Limits, Program
from sandbox.errors import Lost
from sandbox.scene import socket_folder
from sandbox.selfcheck.attempt import Attempt, Spec, catalogue
from sandbox.selfcheck.catalogue import ROWS

PROBES = Path(__file__).parents[1] / "probes"
MIB = 1 << 20
LIMITS = Limits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=180.0, output=256 * 1024)
GOALS = {  # how much is asked for: more than any box gives, less than ten times as much
    "PROBE_MEMORY": str(2 * LIMITS.memory + policy.RESERVED),
    "PROBE_PIDS": str(4 * LIMITS.pids),
    "PROBE_TMPFS": str(4 * LIMITS.tmpfs),
    "PYTHONDONTWRITEBYTECODE": "1",
}

ATTEMPTS: Mapping[str, Spec] = catalogue(
    *(Spec(name, row.group, row.control, short=row.short) for name, row in ROWS.items())
)


def run(box: Box, names: Collection[str]) -> Iterator[Attempt]:
    """Make the attempts that are named: most of them in one agent's place, some in a place each.

    Raises:
        Lost: one did not run to its end, or did not reach its own relay.
        Unavailable: the box cannot be had.
    """
    together = [name for name in names if not ROWS[name].apart]
    if together:
        with answering() as (sockets, word):
            agent = box.place(program(together), sockets, LIMITS).start()
            try:
                facts = agent.wait(LIMITS.wall)
            finally:
                agent.kill()
        if facts.running or facts.lost:
            raise Lost(f"the self-check did not end within {LIMITS.wall:g} s: the {box.name} box is not to be trusted")
        yield from _attempts(together, list(lines(agent.output())), word, box.name)
    yield from _apart(box, [name for name in names if ROWS[name].apart])


def program(names: Collection[str], folder: Path = PROBES, environment: Mapping[str, str] | None = None) -> Program:
    """Give the program that makes some attempts. `folder` is where the probes lie, and its name ends as theirs does."""
    words = ("python3", "-m", "sandbox.probes", *names)
    path = {"PYTHONPATH": str(folder.parents[1])}
    return Program(command=words, folder=folder, environment={**GOALS, **path, **(environment or {})})


def _attempts(names: Collection[str], said: list[dict[str, Any]], word: str, box: str) -> list[Attempt]:
    if not said or not str(said[0].get("reached", "")).endswith(word):
        raise Lost(f"the self-check of the {box} box did not reach its own relay, so what it found proves nothing")
    endings = {line["name"]: line for line in said[1:] if "name" in line}
    missing = [name for name in names if name not in endings]
    if missing:
        raise Lost(f"the self-check of the {box} box stopped before {', '.join(missing)}")
    return [
        Attempt(name, ROWS[name].group, ROWS[name].control, endings[name]["outcome"], endings[name]["detail"])
        for name in names
    ]


def lines(output: str) -> Iterator[dict[str, Any]]:
    """Give each line that the probe said."""
    for line in output.splitlines():
        with suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict):
                yield said


@contextmanager
def answering() -> Iterator[tuple[Path, str]]:
    """Listen where a gateway would, and give every connection one random word."""
    word = secrets.token_hex(8)
    answer = f"HTTP/1.0 200 OK\r\nContent-Length: {len(word)}\r\n\r\n{word}".encode()
    with socket_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        listener.listen()
        thread = threading.Thread(target=_answer, args=(listener, answer), daemon=True)
        thread.start()
        try:
            yield folder, word
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def _answer(listener: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        while True:
            with listener.accept()[0] as caller:
                caller.settimeout(5)
                with suppress(OSError):
                    caller.recv(4096)
                    caller.sendall(answer)


def _apart(box: Box, names: Collection[str]) -> Iterator[Attempt]:  # noqa: ARG001 - none yet
    return iter(())


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:  # noqa: ARG001 - none yet
    """Say of each named attempt whether it gets through where its control was left out."""
    return {}
