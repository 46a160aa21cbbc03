"""Base of the worlds whose init a runner reaches through a channel: in bwrap, in a container, or with no wall."""

from __future__ import annotations

import socket

from sandbox.world.channel import Exit, WorldChannel
from sandbox.world.frozen import FrozenState, Seed


class ChannelWorld:
    """The part of `sandbox.boxes.box.World` that the channel answers; a box adds `facts` and `close`."""

    def __init__(self, channel: WorldChannel) -> None:
        self._channel = channel

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        return self._channel.exits

    def report(self, timeout: float) -> tuple[Exit, ...]:
        """Return the programs that run, each with the last that it wrote on standard error."""
        return self._channel.report(timeout)

    def channel(self) -> socket.socket:
        """Return the gateway's end of the channel."""
        return self._channel.gateway_end()

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop everything in it and take the state as it comes; see `sandbox.world.channel.WorldChannel.freeze`."""
        return self._channel.freeze(timeout, keep=keep)

    def renew(self, state: Seed) -> None:
        """Go on with other data, once it was frozen and kept."""
        self._channel = self._channel.renewed(state)
