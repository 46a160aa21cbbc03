"""Installer of a server's package from a hashed lock: a PyPI package in a venv of its own, or an npm package.

A lock that is missing is resolved first; then the package and everything that it needs is fetched by digest, as wheels
and without install scripts. Registries are reached by their own clients (uv, npm), with this machine's settings.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from quarterturn.errors import Malformed, Unavailable
from quarterturn.launcher import locks, node, pip_settings
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import Stop
from sandbox.kinds.common.state_kind import ROOT
from sandbox.servers.server import LOCKS, NPM, PYTHON

REQUIREMENTS, NPM_LOCK = LOCKS
CONSTRAINTS = "constraints.txt"
"""Beside a manifest: what pip calls constraints, for a package that says too little of what it needs (`mcp<2`)."""
_NPMRC = "omit-lockfile-registry-resolved=true\n"


def lock_name(package: str) -> str:
    """Give the name of a package's lock.

    Raises:
        Malformed: the package is from neither registry.
    """
    names = {"pypi": REQUIREMENTS, "npm": NPM_LOCK}
    registry = package.partition(":")[0]
    if registry not in names:
        raise Malformed(f"a server that is added comes from npm: or pypi:, and this one is {package}")
    return names[registry]


def install(folder: Path, package: str, version: str) -> None:
    """Install a package into a server's folder; a lock that is there is kept to, and a missing one is written.

    Raises:
        Malformed: the package is from neither registry, or its lock pins another version.
        Unavailable: a registry cannot be reached, or has no such package; the message has the client's last words.
    """
    lock, name = folder / lock_name(package), package.partition(":")[2]
    installer = Installer(ROOT, os.environ, pip_settings.read(os.environ))
    try:
        if lock.name == REQUIREMENTS:
            _python(installer, folder, lock, f"{name}=={version}")
        else:
            _npm(installer, folder, lock, name, version)
    except Stop as stop:
        raise Unavailable(f"{package} {version} cannot be installed: {stop}") from None


def _python(installer: Installer, folder: Path, lock: Path, wanted: str) -> None:
    constraints = folder / CONSTRAINTS
    if not lock.is_file():
        source = folder / "requirements.in"
        source.write_text(f"{wanted}\n")
        more = ("--constraints", constraints) if constraints.is_file() else ()
        words = (*locks.OPTIONS, *locks.BARE, *more, "--output-file", lock, source)
        installer.run_uv("pip", "compile", *words, what=f"resolving {wanted}")
        source.unlink()
    if not any(line.split(" ")[0] == wanted for line in lock.read_text().lower().splitlines()):
        raise Malformed(f"{lock} does not pin {wanted}: remove it to have it resolved again, or mend the manifest")
    installer.fill(folder / PYTHON, lock)


def _npm(installer: Installer, folder: Path, lock: Path, name: str, version: str) -> None:
    place = folder / NPM
    place.mkdir(exist_ok=True)
    (place / ".npmrc").write_text(_NPMRC)
    document = {"name": "quarterturn-server", "private": True, "dependencies": {name: version}}
    (place / "package.json").write_text(json.dumps(document, indent=2) + "\n")
    if lock.is_file():
        (place / NPM_LOCK).write_bytes(lock.read_bytes())
    else:
        resolve = ("install", "--package-lock-only", *node.QUIET)
        node.npm(installer, *resolve, cwd=place, what=f"resolving {name}@{version}")
        lock.write_bytes((place / NPM_LOCK).read_bytes())
    pinned = json.loads(lock.read_text()).get("packages", {}).get(f"node_modules/{name}", {}).get("version")
    if pinned != version:
        raise Malformed(
            f"{lock} pins version {pinned or 'none'} of {name}, and the manifest says {version}: remove it to have it "
            "resolved again, or mend the manifest"
        )
    node.npm(installer, "ci", *node.QUIET, cwd=place, what=f"installing {name}@{version}")
