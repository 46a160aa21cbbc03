"""Starts the probes in an agent's place, and parses their output."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.boxes import policy
from sandbox.boxes.box import SOCKET_NAME, AgentLauncher, Program, ResourceLimits
from sandbox.isolation.seccomp import numbers_of
from sandbox.isolation.system_calls import NUMBERS
from sandbox.servings.run_environment import socket_folder

PROBES = Path(__file__).parents[1] / "probes"
SEEN_AT = "/submission/sandbox/attacks/probes"  # ends as the packages are called
MIB = 1 << 20
LIMITS = ResourceLimits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=180.0, output=256 * 1024)
GOALS = {  # how much is asked for: more than any box gives, and less than ten times as much
    "PROBE_MEMORY": str(2 * LIMITS.memory + policy.RESERVED),
    "PROBE_SOCKETS": str(2 * LIMITS.memory),
    "PROBE_PIDS": str(4 * LIMITS.pids),
    "PROBE_TMPFS": str(4 * LIMITS.tmpfs),
    "PROBE_NAMED": " ".join(map(str, numbers_of(NUMBERS).values())),
    "PYTHONDONTWRITEBYTECODE": "1",
}

GVISOR = replace(LIMITS, memory=4 * LIMITS.memory, pids=4 * LIMITS.pids)  # its own kernel lives in there too


def has_sentry(box: AgentLauncher) -> bool:
    """Whether gVisor's kernel stands between the place and ours."""
    return str(getattr(box, "runtime", None) or "").startswith("runsc")


def limits(box: AgentLauncher) -> ResourceLimits:
    """Return the caps of a place that is attacked."""
    return GVISOR if has_sentry(box) else LIMITS


def program(
    names: Collection[str], folder: Path = PROBES, environment: Mapping[str, str] | None = None, *, inside: str = ""
) -> Program:
    """Return the program that makes some attempts.

    Args:
        names: their names, in order.
        folder: where the probes lie.
        environment: variables beside the goals.
        inside: a mark among the arguments, by which the processes can be found.
    """
    words = ("python3", "-m", "sandbox.attacks.probes", *names, *([inside] if inside else []))
    variables = {**GOALS, "PYTHONPATH": str(Path(SEEN_AT).parents[2]), **(environment or {})}
    return Program(command=words, folder=folder, environment=variables, seen_at=SEEN_AT)


def endings(output: str) -> dict[str, tuple[Any, str]]:
    """Parse how each attempt ended, with what came through the relay under "reached"."""
    lines = list(_lines(output))
    reached = {"reached": ("reached", str(lines[0]["reached"]))} if lines and "reached" in lines[0] else {}
    return reached | {line["name"]: (line["outcome"], line["detail"]) for line in lines if "name" in line}


def _lines(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        with suppress(ValueError):
            parsed = json.loads(line)
            if isinstance(parsed, dict):
                yield parsed


@contextmanager
def answering() -> Iterator[tuple[Path, str]]:
    """Listen in the place of a gateway, and give every connection one random word."""
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
