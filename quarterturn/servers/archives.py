"""Download of a server's archives, each by its digest: wheels from the Python index, tarballs from the npm registry.

Nothing is unpacked and nothing of a package is read here. Wheels are fetched as the launcher fetches uv, from where
pip's settings say; tarballs by npm, which is told names and versions alone.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from quarterturn.errors import Unavailable
from quarterturn.launcher import node
from quarterturn.launcher.fetch import fetch, this_machine
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.package_index import Link, Machine, Pin
from quarterturn.servers.npm_lock import Tarball
from quarterturn.servers.python_lock import Requirement
from sandbox.images.added.unpack import LIST, in_cache

CONNECTIONS = 8
CLOSED = ("--ignore-scripts", "--git=/bin/false")
"""npm runs no script, and clones no repository: what is in one could name a program for it to run."""
_CPUS = {"x86_64": "x64", "aarch64": "arm64", "i686": "ia32", "armv7l": "arm", "ppc64le": "ppc64"}


def fetch_wheels(installer: Installer, requirements: Sequence[Requirement], folder: Path) -> None:
    """Fetch the wheel of each requirement that runs here.

    Raises:
        Stop: one cannot be had.
    """
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    machine = this_machine()

    def pick(links: Iterable[Link], pin: Pin, _machine: Machine) -> Link | None:
        return best_wheel(links, pin, ranks)

    def store(requirement: Requirement) -> None:
        pin = Pin(requirement.name, requirement.version, frozenset(requirement.digests))
        wheel = fetch(pin, installer.settings, machine, pick)
        (folder / f"{requirement.name}-{requirement.version}.whl").write_bytes(wheel)

    with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="wheels") as pool:
        list(pool.map(store, requirements))


def best_wheel(links: Iterable[Link], pin: Pin, ranks: Mapping[Tag, int]) -> Link | None:
    """Give the pinned version's wheel that suits this interpreter best, or None where no wheel does."""
    best: tuple[int, Link] | None = None
    for link in links:
        try:
            name, version, _, tags = parse_wheel_filename(link.filename)
        except (InvalidWheelFilename, ValueError):
            continue
        if name != pin.name or version != Version(pin.version) or link.claimed not in {None, *pin.digests}:
            continue
        rank = min((ranks[tag] for tag in tags if tag in ranks), default=None)
        if rank is not None and (best is None or rank < best[0]):
            best = rank, link
    return best[1] if best else None


def npm_machine() -> dict[str, str]:
    """Describe this machine as npm's packages name theirs."""
    machine = platform.machine()
    libc = "glibc" if platform.libc_ver()[0] == "glibc" else "musl"
    return {"os": sys.platform, "cpu": _CPUS.get(machine, machine), "libc": libc}


def fetch_tarballs(installer: Installer, tarballs: Sequence[Tarball], folder: Path) -> None:
    """Fetch tarballs into a cache of npm's in a folder, and list them beside it for the unpacker.

    Raises:
        Stop: npm failed.
        Unavailable: the registry has other bytes than the lock pins.
    """
    specs = sorted({tarball.spec for tarball in tarballs})
    words = ("cache", "add", *CLOSED, "--loglevel=error", "--cache", str(folder), *specs)
    node.npm(installer, *words, cwd=folder, what=f"fetching {len(specs)} packages")
    for tarball in tarballs:
        if not (folder / in_cache(tarball.sha512)).is_file():
            raise Unavailable(f"the registry's {tarball.spec} has another hash (integrity) than its lock pins")
    lines = (f"{tarball.path} {tarball.spec} {tarball.sha512}\n" for tarball in tarballs)
    (folder / LIST).write_text("".join(lines), encoding="ascii")
