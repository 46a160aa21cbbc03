"""Digests of the servers that a machine would play servings with, as `set` statements name them."""

from __future__ import annotations

from sandbox.servers.definition import server_digest
from sandbox.servers.registry import SERVERS

STOP_WORD = b"stop"
"""What a service tells its own runner that is to end in order."""
INTERFACE_VERSION = 1
"""Of the interface between a service and its runners."""


def digests_of_servers() -> dict[str, str]:
    """Return the digest of each server that this process knows: tools, locks, commands and backend."""
    return {name: server_digest(name) for name in SERVERS}
