"""Records the tool lists of the installed servers: `python -m sandbox.servers.record [FOLDER]`.

Writes `<server>/tools.json` from each server's own answer to tools/list, with the version of the distribution that
is installed. Run it after a pin has changed and review the diff: it is what agents will be shown. A server is started
from the environment `world` beside this one, on an empty folder. The record of a new server starts as
`{"package": "npm:name", "version": "", "tools": {}}`.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from sandbox.errors import Unavailable
from sandbox.servers.common import recorded
from sandbox.servers.common.server import DATA, FOLDERS, OURS, PROGRAMS, ROOT, Server
from sandbox.servers.registry import SERVERS

WORLD = Path(sys.prefix) / "world"
SILENT_ALONE = {"calendar"}  # it asks its backend before it says a word


def installed_version(package: str, world: Path = WORLD) -> str:
    """Give the version of an installed server; one of our own is named by what it is made of.

    Raises:
        Unavailable: it is not installed.
    """
    registry, _, name = package.partition(":")
    if registry == "ours":
        return hashlib.sha256((FOLDERS / name / "backend" / "server.py").read_bytes()).hexdigest()[:16]
    manifest = world / "npm/node_modules" / name / "package.json"
    if registry == "npm" and manifest.is_file():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
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
        environment = dict(zip(server.environment, here(tuple(server.environment.values()), Path(folder)), strict=True))
        parameters = StdioServerParameters(command=program, args=arguments, env=environment)
        async with Client(parameters, mode=server.mode, read_timeout_seconds=30) as client:
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
    """Give one server's record as the text of its file."""
    version, tools = installed_version(server.package), asyncio.run(listed(server))
    return (
        json.dumps({"package": server.package, "version": version, "tools": tools}, indent=1, ensure_ascii=False) + "\n"
    )


def main(folder: Path) -> None:
    """Write every record into its server's folder in `folder`."""
    for name, server in SERVERS.items():
        place = folder / name / recorded.NAME
        place.parent.mkdir(exist_ok=True)
        place.write_text(record(server), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDERS)
