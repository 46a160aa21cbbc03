"""Servers that were added to the shipped ones: a folder with one folder a server.

<folder>/<name>/server.yaml  tools.json  predicates.py  and its locks and installed programs
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sandbox.servers import manifest
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import Server, added_at


def list_added(folder: Path) -> list[str]:
    """List the names of the servers in a folder, sorted."""
    names = (file.parent.name for file in folder.glob(f"*/{manifest.FILE}"))
    return sorted(name for name in names if not name.startswith("."))  # what an interrupted `add` left is none


def load_added(folder: Path, name: str | None = None) -> Server:
    """Load a server from its folder; `name` is what it will be called, if not as the folder.

    Raises:
        Malformed: its manifest cannot be understood.
    """
    text = (folder / manifest.FILE).read_text(encoding="utf-8")
    recorded, predicates = folder / manifest.TOOLS, folder / manifest.PREDICATES
    server = manifest.load(
        text,
        manifest.tools_of(recorded.read_text(encoding="utf-8")) if recorded.is_file() else {},
        str(folder / manifest.FILE),
        added=added_at(name or folder.name),
        predicates=predicates.read_text(encoding="utf-8") if predicates.is_file() else "",
    )
    return replace(server, folder=folder)


def register_added(folder: Path) -> None:
    """Make this process know the servers in a folder.

    Raises:
        Malformed: a manifest cannot be understood.
        Refused: a name is taken.
    """
    for name in list_added(folder):
        SERVERS.add(load_added(folder / name))
