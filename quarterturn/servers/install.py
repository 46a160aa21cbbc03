"""Installer of a server's package from a hashed lock: a PyPI package in a venv of its own, or an npm package.

A lock that is missing is resolved first; then the package and everything that it needs is fetched by digest, as wheels
and without install scripts. Registries are reached by their own clients (uv, npm), with this machine's settings.
"""

from __future__ import annotations

import json
import os
import re
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
SHOWN = 600  # characters of what a client said
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


def _pinned(wanted: str) -> str:
    """Give how a lock spells a PyPI package: normalised as PEP 503 says, and without its extras."""
    name, _, version = wanted.partition("==")
    return f"{re.sub(r'[-_.]+', '-', name.partition('[')[0]).lower()}=={version.lower()}"


def _last_words(stop: Stop, folder: Path, source: Path) -> str:
    """Give what a client said when it failed, on one line: without its marks, its log's place and our own folder."""
    lines = [re.sub(r"^npm error( \d+)?", "", line).strip(" ^") for line in str(stop).splitlines()]
    kept = [line for line in lines if line and "complete log" not in line and not line.startswith("Note that")]
    return " ".join(kept).replace(str(folder), str(source))[:SHOWN]


def install(folder: Path, package: str, version: str, source: Path | None = None) -> None:
    """Install a package into a server's folder; a lock that is there is kept to, and a missing one is written.

    Args:
        folder: the server's folder.
        package: the registry and the name.
        version: the version.
        source: where its lock was taken from, for messages.

    Raises:
        Malformed: the package is from neither registry, or its lock pins another version.
        Unavailable: a registry cannot be reached, or has no such package; the message has the client's last words.
    """
    lock, name = folder / lock_name(package), package.partition(":")[2]
    installer = Installer(ROOT, os.environ, pip_settings.read(os.environ))
    try:
        shown = (source or folder) / lock.name
        if lock.name == REQUIREMENTS:
            _python(installer, folder, lock, f"{name}=={version}", shown)
        else:
            _npm(installer, folder, lock, f"{name}@{version}", shown)
    except Stop as stop:
        words = _last_words(stop, folder, source or folder)
        raise Unavailable(
            f"{package} {version} cannot be installed: {words}; mend package or version in the manifest, or the lock "
            "or constraints.txt beside it"
        ) from None


def _python(installer: Installer, folder: Path, lock: Path, wanted: str, shown: Path) -> None:
    constraints = folder / CONSTRAINTS
    if not lock.is_file():
        source = folder / "requirements.in"
        source.write_text(f"{wanted}\n")
        more = ("--constraints", constraints) if constraints.is_file() else ()
        words = (*locks.OPTIONS, *locks.BARE, *more, "--output-file", lock, source)
        installer.run_uv("pip", "compile", *words, what=f"resolving {wanted}")
        source.unlink()
    if not any(line.split(" ")[0] == _pinned(wanted) for line in lock.read_text().lower().splitlines()):
        raise Malformed(f"{shown} does not pin {wanted}: remove it to have it resolved again, or mend the manifest")
    installer.fill(folder / PYTHON, lock)


def _npm(installer: Installer, folder: Path, lock: Path, wanted: str, shown: Path) -> None:
    place, (name, _, version) = folder / NPM, wanted.rpartition("@")
    place.mkdir(exist_ok=True)
    (place / ".npmrc").write_text(_NPMRC)
    document = {"name": "quarterturn-server", "private": True, "dependencies": {name: version}}
    (place / "package.json").write_text(json.dumps(document, indent=2) + "\n")
    if lock.is_file():
        (place / NPM_LOCK).write_bytes(lock.read_bytes())
    else:
        resolve = ("install", "--package-lock-only", *node.QUIET)
        node.npm(installer, *resolve, cwd=place, what=f"resolving {wanted}")
        lock.write_bytes((place / NPM_LOCK).read_bytes())
    try:
        packages = json.loads(lock.read_text())["packages"]
        pinned = packages[f"node_modules/{name}"]["version"]
        bare = [path for path, entry in packages.items() if path and not ({"integrity", "inBundle"} & entry.keys())]
    except (ValueError, KeyError, TypeError, AttributeError):
        pinned, bare = None, []
    if pinned != version:
        raise Malformed(
            f"{shown} pins version {pinned or 'none'} of {name}, and the manifest says {version}: remove it to have it "
            "resolved again, or mend the manifest"
        )
    if bare:
        raise Malformed(f"{shown} has no hash (integrity) for {bare[0]}: remove it to have it resolved again")
    node.npm(installer, "ci", *node.QUIET, cwd=place, what=f"installing {wanted}")
