"""Download of a server's archives, each by its digest: wheels by pip, tarballs by npm.

Nothing is unpacked, built or started here, and nothing that a package says is asked for. Both clients have this
machine's settings, and are told what `python_lock` and `npm_lock` have read and written anew.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from quarterturn.errors import Unavailable
from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import carry_out
from quarterturn.servers.npm_lock import Tarball
from quarterturn.servers.python_lock import Requirement, text_of
from sandbox.images.added.unpack import LIST, in_cache

REQUIREMENTS = "requirements.txt"
QUIET = ("--quiet", "--no-input", "--disable-pip-version-check")
WHEELS_ONLY = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
CLOSED = ("--ignore-scripts", *(f"--allow-{source}=none" for source in ("git", "remote", "directory")))
"""npm runs no script, and has nothing but a registry's packages. While it resolves, it would prepare a dependency
`github:…`, which it fetches without git: a second npm runs in that folder, with the folder's own `.npmrc`, whose
`node-options` name a program for a third."""
CLOSED_NPM = (11, 14)  # the oldest that knows these options; others pass over them and say nothing
_CPUS = {"x86_64": "x64", "aarch64": "arm64", "i686": "ia32", "armv7l": "arm", "ppc64le": "ppc64"}


def fetch_wheels(installer: Installer, requirements: Sequence[Requirement], folder: Path) -> None:
    """Fetch the wheels that a lock has for this machine, and list them beside them for the build of an image.

    Raises:
        Stop: one cannot be had.
    """
    (folder / REQUIREMENTS).write_text(text_of(requirements))
    if not requirements:
        return
    command: list[str | Path] = [installer.python, "-I", "-m", "pip", "download", *QUIET, *WHEELS_ONLY]
    command += ["--dest", folder, "--requirement", folder / REQUIREMENTS]
    carry_out(command, f"fetching {len(requirements)} wheels", env=installer.environ, cwd=folder)


def npm_machine() -> dict[str, str]:
    """Describe this machine as npm's packages name theirs."""
    machine = platform.machine()
    libc = "glibc" if platform.libc_ver()[0] == "glibc" else "musl"
    return {"os": sys.platform, "cpu": _CPUS.get(machine, machine), "libc": libc}


def run_npm(installer: Installer, *words: str, folder: Path, what: str, tarball: bool = False) -> None:
    """Run npm closed. `folder` is its project, so that no `.npmrc` of a folder above is read.

    Args:
        tarball: whether the project itself may name a tarball; what it depends on may name none.

    Raises:
        Stop: it failed.
    """
    closed = (
        *words,
        *CLOSED,
        f"--allow-file={'root' if tarball else 'none'}",
        "--prefix",
        str(folder),
        "--loglevel=error",
    )
    node.npm(installer, *closed, cwd=folder, what=what, oldest=CLOSED_NPM)


def fetch_tarballs(installer: Installer, tarballs: Sequence[Tarball], folder: Path) -> None:
    """Fetch tarballs into a cache of npm's in a folder, and list them beside it for the unpacker.

    The server's own lies in the folder already; the unpacker compares its digest.

    Raises:
        Stop: npm failed.
        Unavailable: the registry has other bytes than the lock pins.
    """
    wanted = [tarball for tarball in tarballs if not tarball.local]
    specs = sorted({tarball.spec for tarball in wanted})
    if specs:
        words = ("cache", "add", "--cache", str(folder), *specs)
        run_npm(installer, *words, folder=folder, what=f"fetching {len(specs)} packages")
    for tarball in wanted:
        if not (folder / in_cache(tarball.sha512)).is_file():
            raise Unavailable(f"the registry's {tarball.spec} has another hash (integrity) than its lock pins")
    (folder / LIST).write_text(list_of(tarballs), encoding="ascii")


def list_of(tarballs: Sequence[Tarball]) -> str:
    """Write the list that the unpacker reads."""
    return "".join(f"{tarball.path} {tarball.spec} {tarball.sha512}\n" for tarball in tarballs)
