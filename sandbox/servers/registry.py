"""Registry of the MCP servers that a world can hold, and the two names of a tool.

In documents a tool is `server.tool`; on the wire it is `server__tool`, because model interfaces accept only
`[A-Za-z0-9_-]{1,64}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.errors import NotFound
from sandbox.servers.calendar.manifest import CALENDAR
from sandbox.servers.common.server import Server
from sandbox.servers.email.manifest import EMAIL
from sandbox.servers.filesystem.manifest import FILESYSTEM
from sandbox.servers.git.manifest import GIT
from sandbox.servers.github.manifest import GITHUB
from sandbox.servers.memory.manifest import MEMORY
from sandbox.servers.postgres.manifest import POSTGRES
from sandbox.servers.redis.manifest import REDIS
from sandbox.servers.spreadsheet.manifest import SPREADSHEET
from sandbox.servers.sqlite.manifest import SQLITE

__all__ = ["SERVERS", "Server", "document_name", "tool_table", "wire_name"]

SERVERS: Mapping[str, Server] = {
    server.name: server
    for server in (CALENDAR, EMAIL, FILESYSTEM, GIT, GITHUB, MEMORY, POSTGRES, REDIS, SPREADSHEET, SQLITE)
}


def tool_table(names: Iterable[str] = tuple(SERVERS)) -> dict[str, Mapping[str, Any]]:
    """List the tools of these servers: `server.tool` -> `{"description", "inputSchema"}`.

    Raises:
        NotFound: there is no server of one of these names.
    """
    table: dict[str, Mapping[str, Any]] = {}
    for name in names:
        if name not in SERVERS:
            raise NotFound(f"there is no server {name!r}; the servers are {', '.join(SERVERS)}")
        table |= {f"{name}.{tool}": described for tool, described in SERVERS[name].tools.items()}
    return table


def wire_name(tool: str) -> str:
    """Turn `server.tool` into `server__tool`."""
    return tool.replace(".", "__", 1)


def document_name(tool: str) -> str:
    """Turn `server__tool` into `server.tool`."""
    return tool.replace("__", ".", 1)
