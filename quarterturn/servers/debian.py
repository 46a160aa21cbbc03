"""Debian packages of a server's worlds: found and fetched by this machine's apt, pinned by digest, unpacked in the box.

apt decides on versions and checks signatures as this machine is set up for it, and installs nothing: it resolves as for
a machine without any package, so that the lock is the same whatever is installed here. Scripts of the packages'
maintainers are foreign code and never run, neither here nor in a world; so what they would make is not there: links of
`update-alternatives`, caches, users.

    release bookworm
    chromium 156.0.8078.108-1~deb12u1 amd64 <SHA-256>
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from quarterturn.errors import Malformed, Unavailable
from quarterturn.launcher.steps import Stop, carry_out
from quarterturn.servers.unpacked import write_files
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.images.added.unpack import DEBIAN_LIST
from sandbox.servers.server import SYSTEM, SYSTEM_ROOT

MAX_PACKAGES = 500
MAX_DOWNLOAD_BYTES = 1 << 30
APT = ("apt-get", "--quiet=2", "--option", "Debug::NoLocking=true", "--option", "APT::Sandbox::User=root")
SHOWN_CHARACTERS = 600  # of what apt said
AGAIN = "remove it to have it made again"
_FOUND = re.compile(r"^'[^']*' ([a-z0-9+.-]+)_([A-Za-z0-9.+~%-]+)_([a-z0-9-]+)\.deb (\d+)", re.MULTILINE)
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]* [0-9][A-Za-z0-9.+:~-]* [a-z0-9-]+ [0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """One package of a lock; its digest is empty before it was fetched."""

    name: str
    version: str
    architecture: str
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version} {self.architecture} {self.sha256}"

    @property
    def downloaded_as(self) -> str:
        """The name that apt gives its file."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def install(folder: Path, server: str, names: Sequence[str], source: Path) -> None:
    """Fetch Debian packages with what they depend on, and unpack them in the box, into a server's folder.

    Args:
        folder: the server's folder; a lock that is there is kept to, and a missing one is written.
        server: its name.
        names: what its manifest asks for.
        source: where its lock was taken from, for messages.

    Raises:
        Malformed: the lock is none, or is for another release; or a package holds what none needs.
        Unavailable: this machine has no apt or no bubblewrap, or apt has no such package.
    """
    if shutil.which(APT[0]) is None:
        raise Unavailable(
            f"the server {server} needs Debian packages ({', '.join(names)}), and this machine has no apt"
        )
    lock, release = folder / DEBIAN_LIST, release_name()
    shown = source / DEBIAN_LIST
    pinned = parse(lock.read_text(encoding="utf-8"), release, names, str(shown)) if lock.is_file() else None
    shutil.rmtree(folder / SYSTEM, ignore_errors=True)
    archives = folder / SYSTEM
    archives.mkdir()
    archives.chmod(0o755)
    try:
        wanted = pinned or _resolved(names)
        carry_out(
            [*APT, "download", *(f"{package.name}={package.version}" for package in wanted)],
            f"fetching {len(wanted)} Debian packages",
            cwd=archives,
        )
    except Stop as error:
        words = " ".join(line.removeprefix("E: ") for line in str(error).splitlines() if not line.startswith("W: "))
        raise Unavailable(
            f"the Debian packages of {server} cannot be had: {words[:SHOWN_CHARACTERS]}; mend `system` in the "
            f"manifest, {f'remove {shown}, ' if pinned else ''}or run `apt-get update` as root"
        ) from None
    packages = [_named_anew(package, archives, str(shown)) for package in wanted]
    text = "".join(f"{line}\n" for line in (f"release {release}", *packages))
    lock.write_text(text, encoding="ascii")
    (archives / DEBIAN_LIST).write_text(text, encoding="ascii")
    (folder / SYSTEM_ROOT).mkdir()
    mtime = time.time_ns()
    try:
        with BwrapBox(run_class="sealed").unpacking("debian", archives, "/", mtime) as files:
            write_files(files, folder / SYSTEM_ROOT, mtime, links=True)
    except Malformed as error:
        shutil.rmtree(archives)
        raise Malformed(f"the Debian packages of {server} cannot be unpacked: {error}") from None


def parse(text: str, release: str, names: Sequence[str], what: str) -> list[DebianPackage]:
    """Read a lock.

    Raises:
        Malformed: it is none, is for another release, or lacks one of the packages that a manifest names.
    """
    head, *lines = text.splitlines() or [""]
    if head != f"release {release}":
        raise Malformed(f"{what} begins with {head[:60]!r}, and this machine has `release {release}`: {AGAIN}")
    if len(lines) > MAX_PACKAGES:
        raise Malformed(f"{what} lists more than {MAX_PACKAGES} packages, which no server needs")
    for number, line in enumerate(lines, 2):
        if not _PACKAGE.fullmatch(line):
            raise Malformed(f"{what}, line {number} is no name, version, architecture and SHA-256: {AGAIN}")
    packages = [DebianPackage(*line.split()) for line in lines]
    listed = {package.name for package in packages}
    if len(listed) < len(packages):
        raise Malformed(f"{what} lists a package twice: {AGAIN}")
    if missing := [name for name in names if name not in listed]:
        raise Malformed(f"{what} lacks {', '.join(missing)}, which the manifest names: {AGAIN}")
    return packages


def release_name() -> str:
    """Return the name of this machine's release, whose libraries the packages were built for."""
    about = platform.freedesktop_os_release()
    return about.get("VERSION_CODENAME") or about["ID"]


def _resolved(names: Sequence[str]) -> list[DebianPackage]:
    """Ask apt which packages a machine without any would install for some.

    Raises:
        Stop: apt has none of a name, or cannot tell.
    """
    with tempfile.TemporaryDirectory(prefix="quarterturn-apt-") as folder:
        (Path(folder) / "status").touch()  # nothing is installed, and nothing was fetched: apt lists what is neither
        places = {"Dir::State::Status": f"{folder}/status", "Dir::Cache::Archives": f"{folder}/"}
        options = [word for name, value in places.items() for word in ("--option", f"{name}={value}")]
        words = (*options, "--no-install-recommends", "--print-uris", "install", *names)
        listing = carry_out([*APT, *words], "resolving Debian packages")
    found = _FOUND.findall(listing)
    if len(found) > MAX_PACKAGES or sum(int(size) for *_, size in found) > MAX_DOWNLOAD_BYTES:
        message = f"they are more than {MAX_PACKAGES} packages or {MAX_DOWNLOAD_BYTES >> 20} MiB with what they need"
        raise Stop(message)
    return sorted(
        (DebianPackage(name, unquote(version), architecture) for name, version, architecture, _ in found), key=str
    )


def _named_anew(package: DebianPackage, folder: Path, what: str) -> DebianPackage:
    """Give a fetched file the name that the unpacker looks for, and return its package with its digest.

    Raises:
        Unavailable: it is not what the lock pins.
    """
    file = folder / f"{package.name}.deb"
    try:
        (folder / package.downloaded_as).rename(file)
    except FileNotFoundError:
        raise Unavailable(f"apt fetched no {package.downloaded_as}, which {what} names: {AGAIN}") from None
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if package.sha256 not in {"", digest}:
        raise Unavailable(f"apt has another {package.name} {package.version} than {what} pins by its SHA-256: {AGAIN}")
    return DebianPackage(package.name, package.version, package.architecture, digest)
