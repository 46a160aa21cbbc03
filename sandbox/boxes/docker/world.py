"""World that runs in a Docker container."""

from __future__ import annotations

import socket
import time
from dataclasses import replace

from sandbox.boxes.box import ExitFacts
from sandbox.boxes.docker.engine import Container
from sandbox.world.channel import Exit, WorldChannel
from sandbox.world.frozen import FrozenState, Seed


class DockerWorld:
    """A world in a container (`sandbox.boxes.box.World`)."""

    def __init__(self, container: Container, channel: WorldChannel) -> None:
        self._container, self._channel = container, channel
        self._since = int(time.time()) - 2  # the engine's clock, which for a local engine is ours
        self._last: ExitFacts | None = None

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        return self._channel.exits

    def channel(self) -> socket.socket:
        """Give the gateway's end of the channel."""
        return self._channel.gateway_end()

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop everything in it and take the state as it comes; see `sandbox.world.channel.WorldChannel.freeze`."""
        return self._channel.freeze(timeout, keep=keep)

    def renew(self, state: Seed) -> None:
        """Go on with other data, once it was frozen and kept."""
        self._channel = self._channel.renewed(state)

    def facts(self) -> ExitFacts:
        """Say how the container stands, or stood when it was removed."""
        if self._last is not None:
            return self._last
        seen = self._container.facts()
        return replace(seen, out_of_memory=seen.out_of_memory or self._container.had_too_little_memory(self._since))

    def close(self) -> None:
        """Remove it; safe to call twice."""
        if self._last is None:
            self._last = replace(self.facts(), running=False)
            self._channel.close()
            self._container.remove()
