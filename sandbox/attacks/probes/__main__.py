"""Runs escape attempts and reports how each ended: `python -m sandbox.attacks.probes [NAME...]`, all by default.

Each runs in a process of its own, so that whatever it gained ends with it; the output is one JSON object a line,
`{"name", "outcome", "detail"}`. Behind a wall the first line says what was fetched through the relay, `{"reached"}`:
the one way that must be open, or the rest would prove nothing.

Nothing here harms a machine that has no wall, apart from what takes resources, which is bounded by what it asks for.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from typing import Any

from sandbox.attacks.probes import files, foreign_abis, kernel, network, resources, weakened_process
from sandbox.attacks.probes.network_exits import PROBE_TIMEOUT_SECONDS
from sandbox.attacks.probes.outcomes import ATTEMPTS, Attempt, Ending, blocked, escaped

MODULES = (network, foreign_abis, kernel, files, resources)
PORT = 8700
ATTEMPT_SECONDS = 60


def make(name: str, function: Attempt, control: dict[str, Any]) -> Ending:
    """Make one attempt in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(ATTEMPT_SECONDS)
        ending = _ending(name, function, control)
        os.write(writing, json.dumps(ending).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not reply:
        return (blocked if control or code == -signal.SIGSYS else escaped)(f"its process ended with {code}")
    outcome, detail = json.loads(reply)
    return outcome, detail


def _ending(name: str, function: Attempt, control: dict[str, Any]) -> Ending:
    try:
        if control:
            weakened_process.apply_controls(control["without"].get(name, {}), control["filters"])
        return function()
    except Exception as error:  # an attempt that fails in a way nobody thought of proves nothing
        return (blocked if control else escaped)(f"it failed unexpectedly: {error!r}")


def reached() -> str:
    """Fetch something through the relay."""
    deadline = time.monotonic() + PROBE_TIMEOUT_SECONDS
    with socket.create_connection(("127.0.0.1", PORT), PROBE_TIMEOUT_SECONDS) as sock:
        sock.sendall(b"GET / HTTP/1.0\r\nHost: 127.0.0.1:8700\r\n\r\n")
        reply = b""
        while time.monotonic() < deadline and (data := sock.recv(4096)):
            reply += data
    return reply.decode("ascii", "replace")[-64:]


def main(names: list[str]) -> None:
    """Make the attempts and print how they ended."""
    if "QUARTERTURN_URL" in os.environ:
        sys.stdout.write(json.dumps({"reached": reached()}) + "\n")
        sys.stdout.flush()
    control = weakened_process.read()
    for name in [name for name in names if not name.startswith("--")] or ATTEMPTS:  # marks are for whoever looks at us
        outcome, detail = make(name, ATTEMPTS[name], control)
        sys.stdout.write(json.dumps({"name": name, "outcome": outcome, "detail": detail[:200]}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
