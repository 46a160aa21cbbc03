"""World that runs in a Docker container."""

from __future__ import annotations

import time
from dataclasses import replace

from sandbox.boxes.box import ExitFacts
from sandbox.boxes.channel_world import ChannelWorld
from sandbox.boxes.docker.engine import Container
from sandbox.world.channel import WorldChannel


class DockerWorld(ChannelWorld):
    """A world in a container (`sandbox.boxes.box.World`)."""

    def __init__(self, container: Container, channel: WorldChannel) -> None:
        super().__init__(channel)
        self._container = container
        self._since = int(time.time()) - 2  # the engine's clock, which for a local engine is ours
        self._last: ExitFacts | None = None

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
