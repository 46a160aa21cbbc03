"""Records the tool lists of the installed servers: `python -m sandbox.servers.record [FOLDER]`.

Writes `<server>/tools.json` from each server's own answer to tools/list. Run it after a pin has changed, with the new
version in the server's manifest, and review the diff: it is what agents will be shown. A server is started from the
environment `world` beside this one, on an empty folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from sandbox.errors import Refused, Unavailable
from sandbox.kinds.common.state_kind import DATA, OURS, PROGRAMS, ROOT
from sandbox.servers import manifest
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import FOLDERS, HANDSHAKE, Server

WORLD = Path(sys.prefix) / "world"
SILENT_ALONE = {"calendar"}  # it asks its backend before it says a word


def installed_version(package: str, world: Path = WORLD) -> str:
    """Give the version of an installed server; one of our own is named by what it is made of.

    Raises:
        Unavailable: it is not installed.
    """
    registry, _, name = package.partition(":")
    if registry == "ours":
        return hashlib.sha256((ROOT / "sandbox" / "kinds" / name / "backend" / "server.py").read_bytes()).hexdigest()[
            :16
        ]
    package_json = world / "npm/node_modules" / name / "package.json"
    if registry == "npm" and package_json.is_file():
        return str(json.loads(package_json.read_text(encoding="utf-8"))["version"])
    libraries = [str(path) for path in world.glob("python/*/lib/python3*/site-packages")]
    for distribution in importlib.metadata.distributions(name=name, path=libraries):
        return distribution.version
    raise Unavailable(f"{package} is not installed in {world}; run the set-up first")


def here(command: Sequence[str], folder: Path) -> list[str]:
    """Turn words of a world into those of this machine, with `folder` for the world's data."""
    places = {PROGRAMS: str(WORLD), OURS: str(ROOT), DATA: str(folder)}
    for inside, outside in places.items():
        command = [word.replace(inside, outside) for word in command]
    return list(command)


async def listed(server: Server) -> dict[str, dict[str, Any]]:
    """Ask a server for its tools: name -> description and input schema."""
    with tempfile.TemporaryDirectory() as folder, _stood_on(server, Path(folder, server.root)):
        program, *arguments = here(server.command, Path(folder))
        own = dict(zip(server.environment, here(tuple(server.environment.values()), Path(folder)), strict=True))
        environment = {"PATH": os.defpath, "HOME": folder, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", **own}
        parameters = StdioServerParameters(command=program, args=arguments, env=environment)
        async with Client(parameters, mode=HANDSHAKE, read_timeout_seconds=30) as client:
            tools = (await client.list_tools()).tools
    return {tool.name: {"description": tool.description or "", "inputSchema": tool.input_schema} for tool in tools}


@contextmanager
def _stood_on(server: Server, place: Path) -> Iterator[None]:
    """Have what the server stands on up, where it says nothing without."""
    place.mkdir()
    if server.backend is None or server.name not in SILENT_ALONE:
        yield
        return
    command = here(server.backend.command, place.parent)
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, env=dict(server.backend.environment)) as backend:
        try:
            assert backend.stdout is not None  # noqa: S101 - it was asked for
            while backend.stdout.readline() not in {b"ready\n", b""}:
                pass
            yield
        finally:
            backend.terminate()


def record(server: Server) -> str:
    """Give one server's recorded tools as the text of its file.

    Raises:
        Refused: another version is installed than its manifest says.
    """
    version = installed_version(server.package)
    if version != server.version:
        raise Refused(f"{server.package} is installed in version {version}, and its manifest says {server.version}")
    return json.dumps(asyncio.run(listed(server)), indent=1, ensure_ascii=False) + "\n"


def main(folder: Path) -> None:
    """Write every record into its server's folder in `folder`."""
    for name, server in SERVERS.items():
        place = folder / name / manifest.TOOLS
        place.parent.mkdir(exist_ok=True)
        place.write_text(record(server), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDERS)
