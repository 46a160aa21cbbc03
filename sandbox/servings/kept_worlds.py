"""Worlds of proofs, kept with their servers for the next proof, since a server's start is most of what a proof costs.

No submission comes into any of them: what plays there is a task's own solution, by itself or through the reference
agent. A world is kept only where each of its
servers is `stateless`, after a proof that came to its end, and the next proof's data takes the place of all that its
folder holds. Every other world is a fresh one.
"""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from sandbox.boxes.box import ExitFacts, ResourceLimits, World, WorldLauncher
from sandbox.servers.registry import SERVERS, Server
from sandbox.world.channel import Exit
from sandbox.world.frozen import FrozenState, Seed

MOST_IDLE = 6
"""How many worlds wait at most; what their servers hold is some 100 MB for each that was called."""

Kind: TypeAlias = tuple[tuple[Server, ...], ResourceLimits]


class KeptWorlds:
    """Launcher of worlds that may have been used by an earlier proof; any number of threads may ask at a time.

    Args:
        box: where they are made.
    """

    def __init__(self, box: WorldLauncher) -> None:
        self._box = box
        self._idle: list[tuple[Kind, World]] = []  # the one that was used last is the last
        self._lock = threading.Lock()
        self.close = weakref.finalize(self, _close, self._idle)
        """End the worlds that wait; safe to call twice. Those that nobody closes go with this object."""

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> World:
        """Take a world with these servers that waits, or start one."""
        if not all(server.stateless for server in servers):
            return self._box.world(servers, state, limits)
        kind = (tuple(servers), limits)
        world = self._waiting(kind)
        if world is None:
            world = self._box.world(servers, state, limits)
        else:
            world.renew(state)
        return _KeptWorld(world, partial(self._keep, kind))

    def _waiting(self, kind: Kind) -> World | None:
        with self._lock:
            places = [place for place, (other, _) in enumerate(self._idle) if other == kind]
            return self._idle.pop(places[-1])[1] if places else None

    def _keep(self, kind: Kind, world: World) -> None:
        with self._lock:
            self._idle.append((kind, world))
            over = [self._idle.pop(0) for _ in range(len(self._idle) - MOST_IDLE)]
        _close(over)


def with_idle(servers: Sequence[Server]) -> Sequence[Server]:
    """Add to shipped servers that keep nothing all others of that sort: any of their proofs may follow in that world.

    A server starts with the first word to it, so one that no proof calls costs nothing.
    """
    sharing = [server for server in SERVERS.values() if server.stateless and server.on_demand and not server.folder]
    return sharing if all(server in sharing for server in servers) else servers


def _close(worlds: list[tuple[Kind, World]]) -> None:
    while worlds:
        worlds.pop()[1].close()


class _KeptWorld:
    """World that is given back where it is closed after its state was taken (`sandbox.boxes.box.World`)."""

    def __init__(self, world: World, give_back: Callable[[World], None]) -> None:
        self._world, self._give_back = world, give_back
        self._frozen = self._closed = False

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        return self._world.exits

    def report(self, timeout: float) -> tuple[Exit, ...]:
        """Return the programs that run, each with the last that it wrote on standard error."""
        return self._world.report(timeout)

    def channel(self) -> socket.socket:
        """Return the gateway's end of the channel."""
        return self._world.channel()

    def freeze(self, timeout: float, *, keep: bool = True) -> FrozenState:
        """Take the state as it comes; its servers are left running."""
        state = self._world.freeze(timeout, keep=keep)
        self._frozen = keep
        return state

    def renew(self, state: Seed) -> None:
        """Go on with other data."""
        self._world.renew(state)
        self._frozen = False

    def facts(self) -> ExitFacts:
        """Say how it stands."""
        return self._world.facts()

    def close(self) -> None:
        """Give it back, or remove it where its state was not taken; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._frozen:
            self._give_back(self._world)
        else:
            self._world.close()
