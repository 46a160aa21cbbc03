"""Records the tool lists of the shipped servers: `python -m sandbox.runs.record [FOLDER]`.

Writes `<server>/tools.json` from each server's own answer to tools/list, given in a world of the bwrap box. Run it
after a pin has changed, with the new version in the server's manifest, and review the diff: it is what agents will be
shown.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from pathlib import Path

from sandbox.boxes.box import Box
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Refused, Unavailable
from sandbox.kinds.common.state_kind import ROOT
from sandbox.runs.tool_listing import listed
from sandbox.servers import manifest
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import FOLDERS, Server

WORLD = Path(sys.prefix) / "world"


def installed_version(package: str, world: Path = WORLD) -> str:
    """Return the version of an installed server; one of our own is named by what it is made of.

    Raises:
        Unavailable: it is not installed.
    """
    registry, _, name = package.partition(":")
    if registry == "ours":
        program = ROOT / "sandbox" / "kinds" / name / "backend" / "server.py"
        return hashlib.sha256(program.read_bytes()).hexdigest()[:16]
    package_json = world / "npm/node_modules" / name / "package.json"
    if registry == "npm" and package_json.is_file():
        return str(json.loads(package_json.read_text(encoding="utf-8"))["version"])
    libraries = [str(path) for path in world.glob("python/*/lib/python3*/site-packages")]
    for distribution in importlib.metadata.distributions(name=name, path=libraries):
        return distribution.version
    raise Unavailable(f"{package} is not installed in {world}; run the set-up first")


def record(server: Server, box: Box) -> str:
    """Return one server's recorded tools as the text of its file.

    Raises:
        Refused: another version is installed than its manifest says.
        Unavailable: it is not installed, or does not start.
    """
    version = installed_version(server.package)
    if version != server.version:
        raise Refused(f"{server.package} is installed in version {version}, and its manifest says {server.version}")
    return manifest.tools_text(listed(box, server))


def main(folder: Path) -> None:
    """Write every record into its server's folder in `folder`."""
    box = BwrapBox()
    for name, server in SERVERS.items():
        place = folder / name / manifest.TOOLS
        place.parent.mkdir(exist_ok=True)
        place.write_text(record(server, box), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDERS)
