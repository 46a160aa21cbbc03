"""Fresh environment of one run: a world, a gateway process, the agent's place, and the socket between them.

A scene is made, used once and taken down, in every path; nothing of it is ever used again. The socket folder is the
run's identity: it lies on a tmpfs inside a folder that only we can enter, and what reaches the gateway through it is
this run's agent and nobody else.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from sandbox.boxes.box import Place, ResourceLimits, World, WorldLauncher
from sandbox.gateway import CALL_SECONDS, FORK_SERVER, Gateway, GatewaySpec, listen, start
from sandbox.judge import JUDGING
from sandbox.model_gateway.process import ModelLink, ModelLinks
from sandbox.results.failure import Stage
from sandbox.runner_identity import own_folder
from sandbox.servers.registry import Server
from sandbox.servings.stopwatch import Meter
from sandbox.world.frozen import FrozenState, Seed


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts for our own machinery, in seconds; none of it is the agent's time."""

    ready: float = 60.0
    finish: float = 20.0
    freeze: float = 30.0
    call: float = CALL_SECONDS


@dataclass
class RunEnvironment:
    """A world with its servers running, a gateway that is ready and a place; `stage` says how far it came.

    Attributes:
        box: where it is made.
        spec: what the gateway is told: the part of the task that the agent may see.
        servers: the servers that run, in the order of their channels.
        seed: the seeded content of the world's data folder.
        setting: makes the agent's place beside the gateway's socket; None where no agent will come.
        meter: times what is done for this run.
        models: the language model that the agent may ask, or None.
        place: what it made, once the scene is open.
    """

    box: WorldLauncher
    spec: GatewaySpec
    servers: Sequence[Server]
    seed: Seed = field(repr=False)
    limits: ResourceLimits
    patience: Timeouts
    meter: Meter
    setting: Callable[[Path], Place] | None = None
    models: ModelLinks | None = None
    place: Place | None = field(default=None, init=False)
    model: ModelLink | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Hold nothing yet: `open` makes the parts."""
        self.stage = Stage.NOTHING
        self._stack = ExitStack()

    def open(self) -> Self:
        """Make the folder and the socket, then world and gateway, and meanwhile the place.

        Raises:
            Lost, Unavailable, OSError: one of them could not be had; `stage` says which, and nothing is left behind.
        """
        FORK_SERVER.warm()  # it loads while the world comes up
        try:
            self.sockets = self._stack.enter_context(socket_folder())
            with ThreadPoolExecutor(1, thread_name_prefix="place") as aside, ExitStack() as unused:
                listener = unused.enter_context(listen(self.sockets)) if self.setting else None
                making = aside.submit(self._place, self.setting) if self.setting else None
                with self.meter.phase("world"):
                    self.world: World = self.box.world(self.servers, self.seed, self.limits)
                    self._stack.callback(self.world.close)
                self.stage = Stage.WORLD
                with self.meter.phase("gateway"):
                    self.gateway: Gateway = start(self.spec, self.world.channel(), listener, self._link())
                    self._stack.callback(self.gateway.kill)
                    self.gateway.ready(self.patience.ready)
                self.stage = Stage.GATEWAY
                if making:
                    with self.meter.phase("place"):  # what is still to wait for
                        self.place = making.result()
        except BaseException:
            self.place = None
            self.close()
            raise
        return self

    def _place(self, setting: Callable[[Path], Place]) -> Place:
        """Make the agent's place; it is taken down with the rest, even where nobody waits for it any more."""
        place = setting(self.sockets)
        self._stack.callback(place.close)
        return place

    def _link(self) -> socket.socket | None:
        """Open the model's session; its log is read to its end in every path, once the gateway is gone."""
        if self.models is None:
            return None
        self.model = self.models.open()
        self._stack.callback(self.model.finish)
        return self.model.gateway_end

    def freeze(self) -> FrozenState:
        """Stop everything in the world and take its state as it comes."""
        with self.meter.phase("freeze"):
            state = self.world.freeze(self.patience.freeze)
        self.stage = Stage.FROZEN
        return state

    def close(self) -> None:
        """Take everything down; safe to call twice."""
        with self.meter.phase("removal"):
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def warm() -> None:
    """Start the processes that readers and judges are forked from, and don't wait until they have loaded.

    Whoever will play a task soon has other things to do before: to check a box, to look whether anything gets out.
    """
    JUDGING.warm()


@contextmanager
def socket_folder() -> Iterator[Path]:
    """Make the folder for one run's socket: on a tmpfs, in a folder of mode 0700.

    The inner folder is the one that a relay is given. Whoever the relay runs as must be able to enter it; nobody
    outside a box can come as far.
    """
    outer = own_folder(str(os.getpid()), in_memory=True)
    try:
        inner = outer / "gw"
        inner.mkdir()
        inner.chmod(0o755)
        yield inner
    finally:
        shutil.rmtree(outer, ignore_errors=True)
