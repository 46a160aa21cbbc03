"""Strict parser of `package-lock.json`, version 3: which tarball lies where, each pinned by its SHA-512.

A lock comes from a stranger, and npm would follow what it says: to git repositories, paths and other hosts' addresses.
So npm is never given it. Each entry is read by its fields, and npm is asked for `name@version` alone; what comes is
taken only if it has the entry's digest.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quarterturn.errors import Malformed
from sandbox.images.added.unpack import FOLDER, LOCAL
from vault.canonical import parse_object
from vault.errors import Malformed as NotJson

MAX_LOCK_BYTES = 8 * 1024 * 1024
MAX_SHOWN_CHARACTERS = 80  # of a name that is refused
LOCK_VERSION = 3
SHA512_BYTES = 64
TOP = frozenset({"name", "version", "lockfileVersion", "requires", "packages"})
ROOT_FIELDS = frozenset({"name", "version", "license", "dependencies"})
AGAIN = "remove the lock to have it resolved again"

_NAME = r"(?:@[A-Za-z0-9][A-Za-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,213}"
_FULL_NAME = re.compile(_NAME)
_PATH = re.compile(rf"node_modules/{_NAME}(?:/node_modules/{_NAME}){{0,30}}")
_VERSION = re.compile(r"[0-9]{1,16}\.[0-9]{1,16}\.[0-9]{1,16}(?:[-+][A-Za-z0-9.+-]{1,100})?")
_RESOLVED = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9@%._~/+-]+\.tgz")


@dataclass(frozen=True, slots=True)
class Tarball:
    """One entry of a lock that is fetched.

    Attributes:
        path: where it is unpacked, `node_modules/…`.
        name: the package; another one than the path's last part where it has an alias.
        version: its version.
        sha512: in hexadecimal.
        local: whether it is the server's own, which no registry has.
    """

    path: str
    name: str
    version: str
    sha512: str
    local: bool = False

    @property
    def spec(self) -> str:
        """Return how npm is asked for it, and the unpacker's list calls it."""
        return f"{LOCAL if self.local else ''}{self.name}@{self.version}"


def of_local(data: bytes, what: str) -> str:
    """Return the lock that npm resolved for a tarball on this disk as `parse` reads it, by version and digest alone."""
    lock = parse_object(data, what, max_size=MAX_LOCK_BYTES)
    packages = lock["packages"]
    entry = packages[f"node_modules/{FOLDER}"]
    entry.pop("resolved", None)
    packages[""]["dependencies"] = {FOLDER: entry["version"]}
    return json.dumps(lock, indent=2) + "\n"


def parse(
    data: bytes, name: str, version: str, machine: Mapping[str, str], what: str, *, local: bool = False
) -> list[Tarball]:
    """Read a lock, and give what is fetched and unpacked for this machine.

    Args:
        data: the file's bytes.
        name: the package that the manifest names; `package` for the server's own.
        version: the version that it names.
        machine: `os`, `cpu` and `libc` as npm calls them; optional packages for others are left out.
        what: what the lock is called in messages.
        local: whether that package is the server's own tarball.

    Raises:
        Malformed: it is no such lock, pins another version, or an entry comes from elsewhere than the registry.
    """
    try:
        lock = parse_object(data, what, max_size=MAX_LOCK_BYTES)
    except NotJson as error:
        raise Malformed(f"{str(error).rstrip('.')}: {AGAIN}") from None
    packages = lock.get("packages")
    if lock.get("lockfileVersion") != LOCK_VERSION or not isinstance(packages, dict) or not lock.keys() <= TOP:
        raise Malformed(f"{what} is no package-lock.json of lockfileVersion {LOCK_VERSION}: {AGAIN}")
    root = packages.get("")
    main = packages.get(f"node_modules/{name}")
    pinned = main.get("version") if isinstance(main, dict) else None
    if pinned != version:
        shown = repr(str(pinned)[:MAX_SHOWN_CHARACTERS]) if pinned else "none"
        raise Malformed(
            f"{what} pins version {shown} of {name}, and the manifest says {version}: remove it to have it resolved "
            "again, or mend the manifest"
        )
    if not isinstance(root, dict) or root.get("dependencies") != {name: version} or not root.keys() <= ROOT_FIELDS:
        raise Malformed(f'{what} at packages[""] must depend on {name} {version} and nothing else: {AGAIN}')
    tarballs = []
    for path, entry in packages.items():
        if path:
            tarball = _tarball(path, entry, f"{what} at packages[{path[:MAX_SHOWN_CHARACTERS]!r}]")
            if tarball is not None and not _is_for_others(entry, machine):
                tarballs.append(replace(tarball, local=local and path == f"node_modules/{name}"))
    return tarballs


def _tarball(path: str, entry: Any, where: str) -> Tarball | None:
    """Read one entry, or give None where it lies in its parent's tarball.

    Raises:
        Malformed: it is no package of the registry with a SHA-512.
    """
    if not _PATH.fullmatch(path):
        raise Malformed(f"{where} is no path of npm packages (node_modules/NAME): {AGAIN}")
    if not isinstance(entry, dict) or entry.get("link", False) is not False:
        raise Malformed(f"{where} is a link, and a server's package comes from the registry: {AGAIN}")
    version = entry.get("version")
    name = entry.get("name", path.rpartition("node_modules/")[2])
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise Malformed(f"{where} has no exact version: {AGAIN}")
    if not isinstance(name, str) or not _FULL_NAME.fullmatch(name):
        raise Malformed(f"{where} has a name that no npm package has: {AGAIN}")
    if "resolved" in entry and not _RESOLVED.fullmatch(str(entry["resolved"])):
        raise Malformed(f"{where} comes from somewhere else than a registry (`resolved`): {AGAIN}")
    if entry.get("inBundle") is True and path.count("node_modules/") > 1 and "integrity" not in entry:
        return None
    return Tarball(path, name, version, _sha512(entry.get("integrity"), where))


def _sha512(integrity: Any, where: str) -> str:
    """Read a subresource integrity of one digest."""
    kind, _, text = integrity.partition("-") if isinstance(integrity, str) else ("", "", "")
    try:
        digest = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        digest = b""
    if kind != "sha512" or len(digest) != SHA512_BYTES:
        raise Malformed(f"{where} has no hash (integrity, one sha512): {AGAIN}")
    return digest.hex()


def _is_for_others(entry: Mapping[str, Any], machine: Mapping[str, str]) -> bool:
    """Say whether an optional package is for another system, processor or C library, as npm decides it."""
    if entry.get("optional") is not True:
        return False
    for field, ours in machine.items():
        wanted = entry.get(field)
        if not isinstance(wanted, list):
            continue
        names = [name for name in wanted if isinstance(name, str)]
        allowed = [name for name in names if not name.startswith("!")]
        if f"!{ours}" in names or (allowed and ours not in allowed and "any" not in allowed):
            return True
    return False
