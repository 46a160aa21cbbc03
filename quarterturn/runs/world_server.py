"""Server of one public task's world: its MCP servers on a local port, until somebody asks for the end.

For the container beside a Harbor task's agent. The folder is how others talk to it:

    ready          written once the port listens
    finish         written by whoever wants the end
    state.json     what was left, for `quarterturn predicate check`; missing where it is no document
    session.json   how the session ended, and whether the state counts; written last
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from quarterturn.errors import Unavailable
from sandbox.boxes.box import SOCKET_NAME, Box, RunningAgent
from sandbox.errors import Lost, SandboxError
from sandbox.runs.job import Terms, new_alias
from sandbox.runs.task_world import question_of, read_by, seed, servers_of, specify
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.state_reader import read_back
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import Transcript
from vault.files import write_atomically
from vault.task.document import Task

READY, FINISH, STATE, SESSION = "ready", "finish", "state.json", "session.json"
BUDGETS = ("steps-exceeded", "time-exceeded", "gateway-lost")
POLL = 0.1
"""Seconds between two looks for the wish to end."""
END_SECONDS = 10


class RelayPlace:
    """Relay from a local port to a gateway's socket, where the agent is no program of ours (`sandbox.boxes.box.Place`).

    Args:
        sockets: the folder of the gateway's socket.
        port: the port on 127.0.0.1.
    """

    def __init__(self, sockets: Path, port: int) -> None:
        with as_file(files("sandbox").joinpath("images", "relay", "relay.py")) as program:
            words: list[str | Path] = [sys.executable, "-I", program, str(port), str(sockets / SOCKET_NAME)]
            self._relay = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            if self._relay.stdout is None or self._relay.stdout.readline() != b"ready\n":
                self.close()
                raise Lost(f"the port {port} on 127.0.0.1 cannot be listened on")

    def start(self) -> RunningAgent:
        """Refuse: no program is started here."""
        raise Lost("the agent of a served world is started by somebody else")

    def close(self) -> None:
        """End the relay; safe to call twice."""
        self._relay.kill()
        self._relay.wait(END_SECONDS)
        if self._relay.stdout:
            self._relay.stdout.close()


def serve(
    task: Task, box: Box, folder: Path, *, port: int, seconds: float, stopped: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """Serve a task's world until `finish` is written, then write what was left; give what `session.json` says.

    Args:
        task: the task; of one with variants its base.
        box: where the world is made.
        folder: where the files above are; it is there.
        port: the port on 127.0.0.1.
        seconds: how long the session may last after its first request.
        stopped: is asked each POLL seconds; true ends it, too.

    Raises:
        Unavailable: the world cannot be made, or the port is taken.
    """
    for name in (READY, FINISH, STATE, SESSION):
        (folder / name).unlink(missing_ok=True)
    served, terms = task.base(), Terms()
    servers = servers_of(served.document)
    spec = specify(served, alias=new_alias(), wall=seconds, servers=servers)
    scene = RunEnvironment(
        box, spec, servers, seed(served.document), terms.world, terms.patience, Meter(terms.clock),
        setting=lambda sockets: RelayPlace(sockets, port),
    )  # fmt: skip
    terms.judging.warm()
    try:
        with scene:
            scene.open()
            _write(folder, READY, {})
            while not (folder / FINISH).exists() and not stopped():
                time.sleep(POLL)
            transcript = scene.gateway.finish(terms.patience.finish)
            state = scene.freeze()
        left = read_back(box, read_by(served), state, terms.world, terms.judging)
    except SandboxError as error:
        raise Unavailable(f"the world of task {task.id} could not be served: {error}") from error
    document = None
    with suppress(SandboxError):  # more than a document may hold, which no reference solution leaves
        document = terms.judging.document(question_of(served), left)
        _write(folder, STATE, document)
    session = _session(transcript, counts=document is not None)
    _write(folder, SESSION, session)
    return session


def _session(transcript: Transcript, *, counts: bool) -> dict[str, Any]:
    return {
        "ended": transcript.ended,
        "calls": len(transcript.calls),
        "unlisted": transcript.unlisted,
        "counts": counts and transcript.ended not in BUDGETS,
    }


def _write(folder: Path, name: str, value: Any) -> None:
    write_atomically(folder / name, json.dumps(value).encode() + b"\n", folder / f".{name}.new")
