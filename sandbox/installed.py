"""Where the launcher put the programs that worlds and agents run as.

`./run setup` makes them beside the environment that this code runs in, so they are found from `sys.prefix` alone:

    world/python/<name>/bin/python   one environment a PyPI server
    world/npm/node_modules           the npm servers
    world/node/bin/node              their Node
    agents/bin/python                a Python that has the official MCP client

A world sees the folder `world` as `/opt/world` (`sandbox.servers.server.PROGRAMS`), wherever it lies here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.errors import Unavailable


def world_programs(prefix: Path | None = None) -> Path:
    """Give the folder that a world without an image mounts at `/opt/world`.

    Raises:
        Unavailable: it was never installed, or only in part.
    """
    folder = _prefix(prefix) / "world"
    for part in ("python", "npm/node_modules", "node/bin/node"):
        _needed(folder / part, "the MCP servers are")
    return folder


def agent_python(prefix: Path | None = None) -> Path:
    """Give the Python that agents run with in a box without images.

    Raises:
        Unavailable: it was never installed.
    """
    return _needed(_prefix(prefix) / "agents" / "bin" / "python", "the agents' Python is")


def python_folders(prefix: Path | None = None) -> tuple[Path, ...]:
    """Give the folders outside `/usr` that an environment's Python is a link into.

    An environment holds a link to its base Python, so a box that mounts the environment must mount these too, each
    at its own path.
    """
    python = _needed(_prefix(prefix) / "bin" / "python", "this environment's Python is")
    roots = {Path(sys.base_prefix), python.resolve().parent.parent}
    return tuple(sorted(root for root in roots if not root.is_relative_to("/usr")))


def _prefix(prefix: Path | None) -> Path:
    return Path(sys.prefix) if prefix is None else prefix


def _needed(path: Path, what: str) -> Path:
    if not path.exists():
        message = f"{what} not installed: {path} is missing; run `./run setup` in the checkout"
        raise Unavailable(message)
    return path
