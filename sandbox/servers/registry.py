"""Registry of the MCP servers that this process knows: the shipped ones, and those that its home has added.

In documents a tool is `server.tool`; on the wire it is `server__tool`, because model interfaces accept only
`[A-Za-z0-9_-]{1,64}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sandbox.errors import NotFound, Refused
from sandbox.servers import manifest
from sandbox.servers.server import FOLDERS, Server
from verifiers.predicates import namespaces

__all__ = ["SERVERS", "Server", "ServerRegistry", "document_name", "names_of_tools", "tool_table", "wire_name"]


class ServerRegistry(Mapping[str, Server]):
    """The servers by name. A process serves one home, so what is added stays until the process ends.

    Args:
        shipped: the servers that every home has.
    """

    def __init__(self, shipped: Iterable[Server]) -> None:
        self._servers = {server.name: server for server in shipped}

    def __getitem__(self, name: str) -> Server:
        return self._servers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._servers))

    def __len__(self) -> int:
        return len(self._servers)

    def add(self, server: Server) -> None:
        """Add a server, or leave it where it is known already; its namespace gets the predicates of its state kind.

        Raises:
            Refused: another server has this name.
        """
        known = self._servers.get(server.name)
        if known is not None and (known.kind, known.package) != (server.kind, server.package):
            raise Refused(f"the name {server.name!r} is taken by the server {known.package}; choose another name")
        namespaces.add(server.name, server.kind, server.own)
        self._servers[server.name] = server

    def named(self, name: str) -> Server:
        """Return a server.

        Raises:
            NotFound: there is none of this name; the message lists those that there are.
        """
        if name not in self._servers:
            raise NotFound(f"there is no server {name!r}; the servers are {', '.join(self)}")
        return self._servers[name]


def shipped() -> Iterator[Server]:
    """Load the servers that come with the software, each from its folder."""
    for file in sorted(FOLDERS.glob(f"*/{manifest.FILE}")):
        tools = manifest.tools_of((file.parent / manifest.TOOLS).read_text(encoding="utf-8"))
        yield manifest.load(file.read_text(encoding="utf-8"), tools, f"{file.parent.name}/{file.name}")


SERVERS = ServerRegistry(shipped())


def tool_table() -> dict[str, Mapping[str, Any]]:
    """List the tools of all servers: `server.tool` -> `{"description", "inputSchema"}`."""
    return {f"{name}.{tool}": about for name, server in SERVERS.items() for tool, about in server.tools.items()}


def names_of_tools(servers: Iterable[str]) -> list[str]:
    """List the tools of some servers as `server.tool`, in alphabetical order.

    Raises:
        NotFound: there is no such server.
    """
    return sorted(f"{name}.{tool}" for name in servers for tool in SERVERS.named(name).tools)


def wire_name(tool: str) -> str:
    """Turn `server.tool` into `server__tool`."""
    return tool.replace(".", "__", 1)


def document_name(tool: str) -> str:
    """Turn `server__tool` into `server.tool`."""
    return tool.replace("__", ".", 1)
