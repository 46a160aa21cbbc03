"""Definition of a server as a task meets it: what it is, what it is built from, and how it is started.

    {"name", "package", "version", "tools", "state": {"kind", "folder", "file"}, "command", "environment",
     "backend": {"command", "environment"} or null, "files": {path in the repository: SHA-256}}

`files` are the locks that pin the packages of its programs with their hashes, and the programs of this repository that
run for it in a world. All of it follows from the commit alone, so its digest is the same on every machine. What is left
out: the base image's own packages (Debian's PostgreSQL, Redis, Dovecot and git), which no lock pins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.images.added.unpack import DEBIAN_LIST
from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, ROOT
from sandbox.servers.manifest import PREDICATES
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import LOCKS, SERVICES_FOLDER, Server
from vault.canonical import canonical

_LOCKS = "sandbox/images/world"  # of what comes from npm, and of Node
_COMMON = "sandbox/kinds/common/backend"  # what backends of this repository import


def server_digest(name: str) -> str:
    """Return the SHA-256 (hex) of the canonical JSON of a server's definition.

    Raises:
        NotFound: there is no server of this name.
    """
    return hashlib.sha256(canonical(definition(SERVERS.named(name)))).hexdigest()


def definition(server: Server, checkout: Path = ROOT) -> dict[str, Any]:
    """Return a server's definition, with the files of a checkout of this repository."""
    backend = server.backend
    started = {"command": list(backend.command), "environment": dict(backend.environment)} if backend else None
    start: dict[str, Any] = {"start_with": server.start_with} if server.start_with else {}
    start |= {"system_calls": list(server.system_calls)} if server.system_calls else {}
    files = {path.relative_to(checkout).as_posix(): path for path in _files(server, checkout)}
    if server.folder is not None:
        own = (*LOCKS, DEBIAN_LIST, PREDICATES, *(f"{SERVICES_FOLDER}/*/{lock}" for lock in LOCKS))
        paths = (path for name in own for path in sorted(server.folder.glob(name)) if path.is_file())
        files |= {path.relative_to(server.folder).as_posix(): path for path in paths}
    return {
        "name": server.name,
        "package": server.package,
        "version": server.version,
        "tools": dict(server.tools),
        "state": {"kind": server.kind, "folder": server.root, "file": server.file},
        **start,
        "command": list(server.command),
        "environment": dict(server.environment),
        "backend": started,
        "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()},
    }


def _files(server: Server, checkout: Path) -> Iterator[Path]:
    """Yield the locks and programs that the words of a server's commands lead to."""
    folders = checkout / "sandbox" / "servers"
    words = "\n".join([*server.command, *(server.backend.command if server.backend else ())])
    for place in sorted(folders.iterdir()):
        if f"{PROGRAMS}/python/{place.name}/" in words:
            yield place / "requirements.txt"
    if f"{PROGRAMS}/node/" in words:
        yield checkout / _LOCKS / "node.txt"
    if f"{PROGRAMS}/npm/" in words:
        yield checkout / _LOCKS / "npm" / "package-lock.json"
    if f"{OUR_KINDS}/common/frozen/" in words:
        yield from _program(checkout / "sandbox" / "kinds" / "common" / "frozen")
    if server.services:
        yield from _program(checkout / "sandbox" / "kinds" / "common" / "services")
    if f"{OUR_KINDS}/{server.kind}/backend" in words:
        yield from _program(checkout / "sandbox" / "kinds" / server.kind / "backend")
        yield from _program(checkout / _COMMON)


def _program(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
