"""Protocols of a box: the interface that the Docker and bubblewrap boxes implement, and the tests' own in memory.

Each run gets three fresh things, and none of them is ever used again:

    agent --lo--> relay --unix socket--> gateway (our process) --channel--> world

A box makes the world, and the agent with its relay. The gateway is the same process whatever the box
(`sandbox.gateway`), and only the runner, never the gateway, can freeze a world.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

from sandbox.isolation.run_classes import RunClass
from sandbox.servers.server import Server
from sandbox.world.channel import Exit
from sandbox.world.frozen import FrozenState, Seed

PORT = 8700
SOCKET_NAME = "gateway.sock"


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Caps on one container or process tree. Bytes and seconds."""

    memory: int = 512 * 1024 * 1024
    pids: int = 256
    cpus: float = 1.0
    tmpfs: int = 64 * 1024 * 1024
    wall: float = 120.0
    output: int = 64 * 1024  # how much of stdout and stderr together is kept


@dataclass(frozen=True, slots=True)
class Program:
    """What a submission runs as.

    Attributes:
        image: a container image (Docker box), or None.
        command: the argument vector; empty means the image's own entry point.
        folder: a folder that the agent may read, or None.
        environment: extra variables. `QUARTERTURN_URL` is added by the box.
        seen_at: where a walled box mounts the folder, read-only. Never at its own path: an image may have a folder of
            that path which is closed to the agent's user, as root's home is.
    """

    image: str | None = None
    command: Sequence[str] = ()
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    seen_at: str = "/submission"

    @property
    def command_inside(self) -> tuple[str, ...]:
        """The argument vector as a walled place sees it: paths below the folder begin with `seen_at`."""
        return tuple(map(self._inside, self.command))

    def _inside(self, word: str) -> str:
        path, folder = Path(word), self.folder and self.folder.absolute()
        if folder is None or not path.is_absolute() or not path.is_relative_to(folder):
            return word
        return str(PurePosixPath(self.seen_at, path.relative_to(folder)))


@dataclass(frozen=True, slots=True)
class ExitFacts:
    """What the engine or the kernel reports about something that ended; no model can write any of it.

    Attributes:
        running: whether it still ran when we asked.
        exit_code: its status, or None while it runs or where nobody knows. A signal n that ended it shows as 128 + n
            behind a wall, and as -n without one.
        out_of_memory: whether the kernel killed it for its memory.
        lost: whether the engine itself could not be asked.
        relay_died: whether it was its relay that ended first, and it with it.
    """

    running: bool
    exit_code: int | None = None
    out_of_memory: bool = False
    lost: bool = False
    relay_died: bool = False


class World(Protocol):
    """Servers and their state, behind one framed channel (`sandbox.world.frames`)."""

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        ...

    def report(self, timeout: float) -> tuple[Exit, ...]:
        """Return the programs that run, each with the last that it wrote on standard error; `timeout` in seconds."""
        ...

    def channel(self) -> socket.socket:
        """Return the gateway's end of the channel; bytes to and from the servers are pumped until `freeze`."""
        ...

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop the servers, kill everything else, and take the state as it comes, unread.

        Args:
            timeout: in seconds.
            keep: stop and kill nothing, for `renew`; only where no agent was, and the servers are at rest.

        Raises:
            Lost: the world did not answer in time, or its stream was cut.
            Malformed: what it holds is beyond the caps; only something inside made it so.
        """
        ...

    def renew(self, state: Seed) -> None:
        """Go on with `state` as all that the data folder holds, once it was frozen and kept; `channel` is a new one."""
        ...

    def facts(self) -> ExitFacts:
        """Report the state of the world's container or process tree."""
        ...

    def close(self) -> None:
        """Remove it; safe to call twice."""
        ...


class RunningAgent(Protocol):
    """A relay and the submitted program, which share one loopback and nothing else."""

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until the agent ends or `timeout` seconds pass; never raises on a timeout."""
        ...

    def output(self) -> str:
        """Return what it printed, escaped and cut at the cap."""
        ...

    def kill(self) -> None:
        """Kill the agent and its relay and wait until both are gone; safe to call twice."""
        ...


class Place(Protocol):
    """Prepared sandbox of one agent: everything is ready but the program's first instruction.

    It can wait while another task is being played. It is started once at most, and never used again.
    """

    def start(self) -> RunningAgent:
        """Start the program.

        Raises:
            Lost: it could not be started; nothing of it runs.
        """
        ...

    def close(self) -> None:
        """Remove it with all that runs in it; safe to call twice, before a start and after it."""
        ...


class AgentLauncher(Protocol):
    """Launcher of agents: a box, or its stand-in for a program that runs elsewhere."""

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> Place:
        """Start a relay to `sockets`/gateway.sock, and make ready a program that can reach nothing but the relay.

        Raises:
            Refused: no gateway listens there, or the program cannot be run in this box; nothing was started.
            Lost: the relay did not come up.
        """
        ...


class WorldLauncher(Protocol):
    """Launcher of worlds: a box, or what keeps a box's worlds for the next proof."""

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> World:
        """Start a world whose data folder holds `state`, with these servers running in it."""
        ...


class Box(AgentLauncher, WorldLauncher, Protocol):
    """Environment that runs worlds and agents in isolation.

    Attributes:
        name: `docker` or `bwrap`.
        official: whether scores made in it may be ranked.
    """

    name: str
    official: bool

    def check(self) -> None:
        """Make sure that the box can be had.

        Raises:
            Unavailable: it cannot; the message says what to install or start.
        """
        ...

    def fits(self, program: Program) -> None:
        """Make sure that a program can be started here, as far as that can be known before anything of it runs.

        Raises:
            NotFound: it is an image that the engine has not.
            Refused: it cannot be run in this box; the message says why.
            Unavailable: the engine cannot be asked.
        """
        ...


@dataclass(frozen=True, slots=True)
class BoxRecipe:
    """What another process makes the same box from.

    Attributes:
        name: `docker` or `bwrap`.
        run_class: of the runs that are played in it.
        runtime: another OCI runtime of the engine, or empty.
        programs: the copies of programs that its places read: where they change, a process that holds them is old.
    """

    name: str
    run_class: RunClass
    runtime: str = ""
    programs: tuple[str, ...] = ()


@runtime_checkable
class ReproducibleBox(Box, Protocol):
    """Box that another process can make again, to play in it (`sandbox.servings.supervised_player`)."""

    @property
    def recipe(self) -> BoxRecipe | None:
        """What it is made from; None where it is no usual one, as some of the tests are."""
        ...

    def disconnect(self) -> None:
        """Close the connections to its engine, if there are any; whatever is asked of it next opens another."""
        ...
