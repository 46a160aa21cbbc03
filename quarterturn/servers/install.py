"""Installer of a server's package from a hashed lock: a PyPI package with an environment of its own, or an npm package.

No code of a package runs outside the box, and no option of a lock reaches a client:

1. A lock that is missing is resolved from published metadata, by uv or npm, which build and run nothing.
2. The lock is read by a strict grammar (`python_lock`, `npm_lock`), whoever wrote it.
3. Each archive is fetched by its digest and left closed (`archives`).
4. The archives are unpacked in the box, where Python is compiled too: no network, no home in view, not root.
5. The files that come out are written down (`unpacked`). No process of ours imports or starts any of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from quarterturn.errors import Malformed, Unavailable
from quarterturn.launcher import locks
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import Stop
from quarterturn.servers import npm_lock, python_lock
from quarterturn.servers.archives import fetch_tarballs, fetch_wheels, npm_machine, run_npm
from quarterturn.servers.local_package import DIRECT, kept_archive
from quarterturn.servers.python_lock import Requirement
from quarterturn.servers.unpacked import write_files
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.images.added.unpack import FOLDER, LIST, PACKAGE_TARBALL
from sandbox.isolation.program_copies import interpreter
from sandbox.kinds.common.state_kind import ROOT
from sandbox.servers.server import LOCKS, NPM, PYTHON, added_at

REQUIREMENTS, NPM_LOCK = LOCKS
CONSTRAINTS = "constraints.txt"
"""Beside a manifest: what pip calls constraints, for a package that says too little of what it needs (`mcp<2`)."""
FETCHED = "fetched.txt"
"""In an environment: which wheels were fetched for it, which is its lock without the server's own package."""
SHOWN = 600  # characters of what a client said
_PART = ".part-"
_NPMRC = "omit-lockfile-registry-resolved=true\n"


def lock_name(package: str) -> str:
    """Return the name of a package's lock.

    Raises:
        Malformed: the package is from neither registry.
    """
    names = {"pypi": REQUIREMENTS, "npm": NPM_LOCK}
    registry = package.partition(":")[0]
    if registry not in names:
        raise Malformed(f"a server that is added comes from npm: or pypi:, and this one is {package}")
    return names[registry]


def install(folder: Path, server: str, package: str, version: str, source: Path | None = None) -> None:
    """Install a package into a server's folder; a lock that is there is kept to, and a missing one is written.

    Args:
        folder: the server's folder.
        server: its name, which decides where a world sees it.
        package: the registry and the name.
        version: the version.
        source: where its lock was taken from, for messages.

    Raises:
        Malformed: the package is from neither registry, its lock or its constraints are not what this reads, the lock
            pins another version, or an archive holds what no package needs.
        Unavailable: a registry cannot be reached, or has no such package; the message has the client's last words.
            Or of `sandbox.errors`: this machine has no bubblewrap.
    """
    kind, place = ("wheels", PYTHON) if lock_name(package) == REQUIREMENTS else ("npm", NPM)
    wanted = _Package(package.partition(":")[2], version, folder, source or folder, kept_archive(folder))
    box = BwrapBox(run_class="sealed")
    box.check()
    installer = Installer(ROOT, os.environ)
    mtime = time.time_ns()
    for left in folder.glob(f"{_PART}*"):  # of an installation that was killed
        shutil.rmtree(left, ignore_errors=True)
    with _folder_in(folder) as archives, _folder_in(folder) as part:
        try:
            (_fetch_python if kind == "wheels" else _fetch_npm)(installer, wanted, archives)
        except (Stop, Unavailable) as error:
            words = _last_words(error, archives, wanted.shown)
            raise Unavailable(
                f"{package} {version} cannot be installed: {words}; mend package or version in the manifest, or the "
                "lock or constraints.txt beside it"
            ) from None
        if kind == "wheels":
            _make_environment(part)
            shutil.copyfile(archives / REQUIREMENTS, part / FETCHED)
        else:
            shutil.copyfile(archives / LIST, part / LIST)
        try:
            with box.unpacking(kind, archives, f"{added_at(server)}/{place}", mtime) as files:
                write_files(files, part, mtime)
        except Malformed as error:
            raise Malformed(f"{package} {version} cannot be installed: {error}; choose another version") from None
        shutil.rmtree(folder / place, ignore_errors=True)
        part.rename(folder / place)


@dataclass(frozen=True, slots=True)
class _Package:
    """What is installed.

    Attributes:
        name: its name in its registry, perhaps with extras.
        version: its version.
        folder: of the server, where its lock lies.
        shown: where that came from, for messages.
        archive: its own package, where no registry has it.
    """

    name: str
    version: str
    folder: Path
    shown: Path
    archive: Path | None

    def text(self, name: str) -> str | None:
        """Read a file that may have come with the manifest.

        Raises:
            Malformed: it is larger than any lock, or no UTF-8 text.
        """
        file = self.folder / name
        if not file.is_file():
            return None
        if file.stat().st_size > npm_lock.MAX_LOCK_BYTES:
            raise Malformed(f"{self.shown / name} has more than {npm_lock.MAX_LOCK_BYTES} bytes, which no lock has")
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise Malformed(f"{self.shown / name} is not UTF-8 text") from None


@contextmanager
def _folder_in(folder: Path) -> Iterator[Path]:
    """Yield a new folder that everybody may read, as the box's user must; what is left of it is removed."""
    made = Path(tempfile.mkdtemp(prefix=_PART, dir=folder))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _last_words(error: Exception, folder: Path, source: Path) -> str:
    """Return what a client said when it failed, on one line: without its marks, its log's place and our own folder."""
    lines = [re.sub(r"^npm error( \d+)?", "", line).strip(" ^") for line in str(error).splitlines()]
    kept = [line for line in lines if line and "complete log" not in line and not line.startswith("Note that")]
    return " ".join(kept).replace(str(folder), str(source))[:SHOWN]


def _make_environment(folder: Path) -> None:
    """Make an empty environment, as `venv` does, without starting a Python: a link to the interpreter of the boxes."""
    python = Path(interpreter())
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(python)
    version = "{}.{}.{}".format(*sys.version_info)
    settings = f"home = {python.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    (folder / "pyvenv.cfg").write_text(settings)


def _fetch_python(installer: Installer, package: _Package, archives: Path) -> None:
    what, own = str(package.shown / REQUIREMENTS), None
    name, version = package.name.partition("[")[0], package.version
    if package.archive is not None:
        own = archives / package.archive.name
        shutil.copyfile(package.archive, own)
        name = parse_wheel_filename(own.name)[0]
    wanted = f"{package.name if own is None else name}=={version}"
    limits = package.text(CONSTRAINTS)
    written = python_lock.constraints(limits, str(package.shown / CONSTRAINTS)) if limits else ""
    text = package.text(REQUIREMENTS)
    if text is None:
        text = _resolved_python(installer, package, own, written, archives)
    requirements = python_lock.parse(text, what)
    pin = (canonicalize_name(name), python_lock.normalised(version))
    pinned = [requirement for requirement in requirements if (requirement.name, requirement.version) == pin]
    if not pinned:
        raise Malformed(f"{what} does not pin {wanted}: remove it to have it resolved again, or mend the manifest")
    if own is not None and _sha256(own) not in pinned[0].digests:
        raise Malformed(
            f"{what} pins {wanted} with another hash than {own.name} has: remove it to have it resolved again"
        )
    fetched = [requirement for requirement in requirements if own is None or requirement not in pinned]
    fetch_wheels(installer, fetched, archives)
    (package.folder / REQUIREMENTS).write_text(python_lock.text_of(requirements))


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _resolved_python(installer: Installer, package: _Package, own: Path | None, constraints: str, folder: Path) -> str:
    """Return the lock that uv resolves, with the server's own wheel, which uv reads closed, by its digest."""
    source, limits, output = (folder / name for name in (DIRECT, CONSTRAINTS, REQUIREMENTS))
    limits.write_text(constraints)
    words: list[str | Path] = [*locks.OPTIONS, *locks.BARE, "--constraints", limits, "--output-file", output]
    line = ""
    if own is None:
        source.write_text(f"{package.name}=={package.version}\n")
    else:
        name, version, *_ = parse_wheel_filename(own.name)
        line = f"{Requirement(name, str(version), (_sha256(own),))}\n"
        extras = package.name[len(package.name.partition("[")[0]) :]
        needed = package.text(DIRECT)
        source.write_text(f"{name}{extras} @ {own.as_uri()}\n" if needed is None else needed)
        words += ["--no-emit-package", name]
    installer.run_uv("pip", "compile", *words, source, what=f"resolving {package.name}")
    return output.read_text() + line


def _fetch_npm(installer: Installer, package: _Package, archives: Path) -> None:
    name, local = (package.name, False) if package.archive is None else (FOLDER, True)
    if package.archive is not None:
        shutil.copyfile(package.archive, archives / PACKAGE_TARBALL)
    text, what = package.text(NPM_LOCK), str(package.shown / NPM_LOCK)
    if text is None:
        text = _resolved_npm(installer, name, package.version, archives, local=local)
    tarballs = npm_lock.parse(text.encode(), name, package.version, npm_machine(), what, local=local)
    fetch_tarballs(installer, tarballs, archives)
    (package.folder / NPM_LOCK).write_text(text)


def _resolved_npm(installer: Installer, name: str, version: str, folder: Path, *, local: bool) -> str:
    wanted = f"file:{PACKAGE_TARBALL}" if local else version
    document = {"name": "quarterturn-server", "private": True, "dependencies": {name: wanted}}
    (folder / "package.json").write_text(json.dumps(document))
    (folder / ".npmrc").write_text(_NPMRC)
    words = ("install", "--package-lock-only", "--no-audit", "--no-fund")
    run_npm(installer, *words, folder=folder, what=f"resolving {name}@{version}", tarball=local)
    text = (folder / NPM_LOCK).read_text(encoding="utf-8")
    return npm_lock.of_local(text.encode(), NPM_LOCK) if local else text
