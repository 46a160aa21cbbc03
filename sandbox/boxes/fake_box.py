"""Box with no wall, for tests of code that uses a box. No submission is ever run in it.

The same init, relay, channel and frames as everywhere, as plain processes of this user: the network is the host's, the
file system is the host's, and no cap holds. So that worlds and agents can stand side by side, each relay has a free
port, and a world's data is a folder of its own, which stands for `/data` in what its servers are started with.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.boxes import policy
from sandbox.boxes.box import SOCKET_NAME, ExitFacts, Program, ResourceLimits
from sandbox.boxes.channel_world import ChannelWorld
from sandbox.boxes.output import CappedOutput
from sandbox.errors import Lost, Refused
from sandbox.kinds.common.state_kind import DATA, OURS, PROGRAMS, ROOT
from sandbox.servers.server import Server
from sandbox.world.channel import WorldChannel
from sandbox.world.frozen import FrozenState, Seed

IMAGES = Path(__file__).parents[1] / "images"


class FakeWorld(ChannelWorld):
    """A world with no wall (`sandbox.boxes.box.World`)."""

    def __init__(self, process: subprocess.Popen[bytes], channel: WorldChannel, data: Path) -> None:
        super().__init__(channel)
        self._process, self._data = process, data

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop the servers and take the state as it comes; see `sandbox.world.channel.WorldChannel.freeze`."""
        state = super().freeze(timeout, keep=keep)
        if not keep:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        return state

    def facts(self) -> ExitFacts:
        """Say whether it runs and how it ended."""
        code = self._process.poll()
        return ExitFacts(running=code is None, exit_code=code)

    def close(self) -> None:
        """End it and remove its folder; safe to call twice."""
        self._channel.close()
        _end(self._process, patience=2)  # its init stops the servers once its input has ended
        shutil.rmtree(self._data, ignore_errors=True)


class FakePlace:
    """A relay that listens, and what to start beside it (`sandbox.boxes.box.Place`)."""

    def __init__(self, program: Program, sockets: Path, cap: int) -> None:
        self._program, self._cap = program, cap
        port = _free_port()
        self._relay = _relay(port, sockets / SOCKET_NAME)
        self._environment = policy.agent_environment(program)
        self._environment |= {"PATH": os.environ["PATH"], "QUARTERTURN_URL": f"http://127.0.0.1:{port}"}
        self._agent: subprocess.Popen[bytes] | None = None

    def start(self) -> FakeAgent:
        """Start the program."""
        self._agent = subprocess.Popen(
            ["/usr/bin/env", *self._program.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._program.folder or "/",
            env=self._environment,
            bufsize=0,  # what it prints is there at once
            start_new_session=True,
        )
        return FakeAgent(self, self._relay, self._agent, self._cap)

    def close(self) -> None:
        """Kill both; safe to call twice."""
        if self._agent is not None:
            _end(self._agent)
        _end(self._relay)
        if self._relay.stdout:
            self._relay.stdout.close()


class FakeAgent:
    """A relay and an agent with no wall (`sandbox.boxes.box.RunningAgent`)."""

    def __init__(
        self, place: FakePlace, relay: subprocess.Popen[bytes], agent: subprocess.Popen[bytes], cap: int
    ) -> None:
        self._place, self._relay, self._agent = place, relay, agent
        assert agent.stdout is not None  # noqa: S101 - it was asked for
        self._output = CappedOutput(agent.stdout, cap)

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until the agent ends; the relay's end is the agent's, and a fact of its own."""
        if self._relay.poll() is not None and self._agent.poll() is None:
            return ExitFacts(running=False, relay_died=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._agent.wait(timeout)
        return ExitFacts(running=self._agent.returncode is None, exit_code=self._agent.returncode)

    def output(self) -> str:
        """Give what it printed, escaped and cut at the cap."""
        return self._output.text()

    def kill(self) -> None:
        """Kill both; safe to call twice."""
        self._place.close()
        self._output.close()


class FakeBox:
    """Plain processes (`sandbox.boxes.box.Box`)."""

    name = "fake"
    official = False

    def check(self) -> None:
        """Do nothing: it can always be had, and never relied on."""

    def fits(self, program: Program) -> None:
        """Refuse an image.

        Raises:
            Refused: it is one.
        """
        if program.image is not None or not program.command:
            raise Refused("the fake box runs a command, not an image")

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> FakeWorld:  # noqa: ARG002 - no cap holds
        """Start a world; its servers come up while the caller goes on."""
        data = Path(tempfile.mkdtemp(prefix="quarterturn-fake-"))
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(IMAGES / "world" / "init.py")],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                start_new_session=True,
            )
        channel = WorldChannel(ours)
        replaced = {
            DATA: str(data),
            PROGRAMS: str(Path(sys.prefix) / "world"),
            OURS: str(ROOT),
        }
        channel.open([_moved(document, replaced) for document in policy.server_documents(servers)], state, str(data))
        return FakeWorld(process, channel, data)

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> FakePlace:
        """Start a relay, and keep the program for later.

        Raises:
            Refused: the program is an image.
            Lost: the relay did not come up.
        """
        self.fits(program)
        policy.let_relay_in(sockets)
        return FakePlace(program, sockets, limits.output)


def _moved(document: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Replace the folders of a world by those of this machine."""

    def moved(word: str) -> str:
        for inside, outside in places.items():
            word = word.replace(inside, outside)
        return word

    backend = {"backend": _moved(document["backend"], places)} if "backend" in document else {}
    return {
        **{key: document[key] for key in ("name", "on_demand") if key in document},
        "command": [moved(word) for word in document["command"]],
        "environment": {name: moved(value) for name, value in document["environment"].items()},
        "cwd": moved(document["cwd"]),
        **backend,
    }


def _relay(port: int, path: Path) -> subprocess.Popen[bytes]:
    """Start a relay and wait until it listens."""
    program = str(IMAGES / "relay" / "relay.py")
    command = [sys.executable, "-I", "-S", program, str(port), str(path)]
    relay = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    if relay.stdout and relay.stdout.readline() == b"ready\n":
        return relay
    _end(relay)
    if relay.stdout:
        relay.stdout.close()
    raise Lost(f"the relay did not come up on port {port}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _end(process: subprocess.Popen[bytes], patience: float = 0) -> None:
    """Kill a process with its group, after some patience."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
