"""Digest of what a machine would play servings with: the shipped servers, their pins and what agents are shown."""

from __future__ import annotations

import hashlib

from sandbox.servers.registry import SERVERS
from vault.canonical import canonical

INTERFACE_VERSION = 1
"""Of the interface between a service and its runners."""


def programs_digest() -> str:
    """Return the SHA-256 of the shipped servers' packages, versions, commands and tools, in hexadecimal digits."""
    servers = [
        {
            "name": server.name,
            "package": server.package,
            "version": server.version,
            "kind": server.kind,
            "command": list(server.command),
            "tools": {name: dict(tool) for name, tool in server.tools.items()},
        }
        for server in SERVERS.values()
        if server.folder is None
    ]
    return hashlib.sha256(canonical({"servers": servers})).hexdigest()
