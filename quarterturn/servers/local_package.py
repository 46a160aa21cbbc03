"""A server's package that lies beside its manifest: a wheel, an npm tarball or a folder, kept as one archive.

The home gets a copy, `<home>/servers/<name>/package/<file>`, whose digest stands in the server's lock. A folder is
packed as it is: nothing is built, and no script of it runs. Archives are copied closed; only the box opens one.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import stat
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from quarterturn.errors import Malformed, NotFound
from quarterturn.servers.npm_lock import MAX_LOCK_BYTES
from quarterturn.servers.python_lock import normalised
from sandbox.images.added.unpack import FOLDER, MAX_FILE_BYTES, PACKAGE_TARBALL

DIRECT = "requirements.in"  # in a server's folder: what a Python folder needs, from which its lock is resolved
KEPT_IN = "package"  # the folder in a server's own, which holds the one archive
MAX_FOLDER_FILES = 20_000
MAX_FOLDER_BYTES = 128 << 20
LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv"})  # and whatever begins with a dot, such as .env
DEPENDENCIES = ("pyproject.toml", "requirements.txt")
"""Where a Python folder names what it needs; the first one that is there counts."""
_OPTION_OR_ADDRESS = re.compile(r"^-|@|://")


@dataclass(frozen=True, slots=True)
class LocalPackage:
    """A package beside a manifest.

    Attributes:
        shown: as the manifest names it, for messages.
        path: the file or folder.
        npm: whether it is for Node, and not for Python.
    """

    shown: str
    path: Path
    npm: bool

    @classmethod
    def of(cls, package: str, beside: Path) -> LocalPackage | None:
        """Return the package that a manifest's `package` names beside it; None where it names one of a registry."""
        registry, _, name = package.partition(":")
        if not name.startswith("./"):
            return None
        return cls(package, beside / name.partition("[")[0], registry == "npm")

    def check(self, version: str) -> None:
        """Check what can be known of it before anything is installed.

        Raises:
            NotFound: it is not there.
            Malformed: it is neither an archive of its sort nor a folder, or another version than the manifest's.
        """
        archive = ".tgz" if self.npm else ".whl"
        if any(part.is_symlink() for part in (self.path, *list(self.path.parents)[: self.shown.count("/") - 1])):
            raise Malformed(f"{self.shown} leads through a link: put the file or folder itself beside the manifest")
        if not self.path.exists():
            raise NotFound(f"there is no {self.path}, which the manifest names as {self.shown}")
        if self.path.is_dir():
            self._check_folder(version)
        elif self.path.suffix != archive:
            raise Malformed(f"{self.shown} is neither a folder nor a file {archive}: nothing else is installed")
        elif self.path.stat().st_size > MAX_FILE_BYTES:
            raise Malformed(f"{self.shown} has more than {MAX_FILE_BYTES >> 20} MiB, which no server needs")
        elif not self.npm:
            self._check_wheel(version)

    def keep(self, server: str, version: str, folder: Path) -> None:
        """Copy or pack it into a server's folder in a home.

        Raises:
            Malformed: the folder holds more than the caps, or what it needs cannot be read.
        """
        kept = folder / KEPT_IN
        kept.mkdir()
        if not self.path.is_dir():
            shutil.copyfile(self.path, kept / (PACKAGE_TARBALL if self.npm else self.path.name))
        elif self.npm:
            _write_tarball(kept / PACKAGE_TARBALL, self._files())
        else:
            stem = f"{canonicalize_name(server).replace('-', '_')}-{normalised(version)}"
            _write_wheel(kept / f"{stem}-py3-none-any.whl", stem, self._files())
            (folder / DIRECT).write_text("".join(f"{line}\n" for line in self.dependencies()), encoding="utf-8")

    def dependencies(self) -> list[str]:
        """Return what a Python folder says that it needs, each as a requirement written anew.

        Raises:
            Malformed: it names something else than packages of an index, or leaves them to a build.
        """
        file = next((self.path / name for name in DEPENDENCIES if (self.path / name).is_file()), None)
        if file is None:
            return []
        lines = _project_dependencies(file) if file.suffix == ".toml" else _lines(_text(file))
        return [_requirement(line, file) for line in lines]

    def _check_folder(self, version: str) -> None:
        if "[" in self.shown:
            raise Malformed(f"{self.shown}: a folder has no extras; name what it needs in its pyproject.toml")
        if self.npm and not (self.path / "package.json").is_file():
            raise Malformed(f"{self.shown} has no package.json, which a package for Node has: name the folder that has")
        if not self.npm:
            try:
                Version(version)
            except InvalidVersion:
                raise Malformed(f"the version {version!r} is none of a Python package: write one such as 1.0") from None
            self.dependencies()

    def _check_wheel(self, version: str) -> None:
        try:
            _, own, _, tags = parse_wheel_filename(self.path.name)
        except InvalidWheelFilename:
            raise Malformed(
                f"{self.shown} has no wheel's name, such as notes-1.0-py3-none-any.whl: name it as its build did"
            ) from None
        if str(own) != normalised(version):
            raise Malformed(f"{self.shown} is version {own}, and the manifest says {version}: mend one of them")
        if tags.isdisjoint(sys_tags()):
            raise Malformed(
                f"{self.shown} was built for another Python or machine ({', '.join(sorted(map(str, tags))[:3])}): "
                "build it for this one"
            )

    def _files(self) -> Iterator[tuple[str, bytes, bool]]:
        """Yield the plain files of the folder in a fixed order: path, content, and whether it can be executed."""
        count = size = 0
        for at, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if _is_packed(name))
            for path in (Path(at, name) for name in sorted(filter(_is_packed, names))):
                status = path.lstat()
                if not stat.S_ISREG(status.st_mode):
                    continue  # links and devices are left out, as npm leaves them out
                count, size = count + 1, size + status.st_size
                if count > MAX_FOLDER_FILES or size > MAX_FOLDER_BYTES:
                    raise Malformed(
                        f"{self.shown} holds more than {MAX_FOLDER_FILES} files or {MAX_FOLDER_BYTES >> 20} MiB: "
                        "name a folder with the server alone"
                    )
                yield path.relative_to(self.path).as_posix(), path.read_bytes(), bool(status.st_mode & 0o111)


def kept_archive(folder: Path) -> Path | None:
    """Return the archive of a server's own package in its folder in a home, or None where a registry has it."""
    return next(iter(sorted((folder / KEPT_IN).glob("*"))), None)


def _is_packed(name: str) -> bool:
    return name not in LEFT_OUT and not name.startswith(".")


def _write_wheel(target: Path, stem: str, files: Iterator[tuple[str, bytes, bool]]) -> None:
    """Write a wheel (PEP 427) that puts the files into a folder of the environment; the same files, the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content, executable in files:
            info = zipfile.ZipInfo(f"{stem}.data/data/{FOLDER}/{path}")
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            wheel.writestr(info, content)


def _write_tarball(target: Path, files: Iterator[tuple[str, bytes, bool]]) -> None:
    """Write an npm tarball; the same files give the same bytes."""
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w") as tar,
    ):
        for path, content, executable in files:
            info = tarfile.TarInfo(f"package/{path}")
            info.size, info.mode = len(content), 0o755 if executable else 0o644
            tar.addfile(info, io.BytesIO(content))


def _project_dependencies(file: Path) -> list[Any]:
    try:
        project = tomllib.loads(_text(file)).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Malformed(f"{file} is no TOML ({type(error).__name__}): mend it") from None
    if not isinstance(project, dict):
        raise Malformed(f"{file} at project is no table: mend it")
    if "dependencies" in project.get("dynamic", ()):
        raise Malformed(
            f"{file} leaves its dependencies to a build (`dynamic`), and nothing is built here: build a wheel of it, "
            "and name that under `package`"
        )
    lines = project.get("dependencies", [])
    if not isinstance(lines, list):
        raise Malformed(f"{file} at project.dependencies is no list: mend it")
    return lines


def _lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := re.sub(r"(^|\s)#.*", "", raw).strip())]


def _requirement(line: Any, file: Path) -> str:
    """Read a requirement, and write it anew: pip's format has options, addresses and paths, which run code."""
    try:
        if isinstance(line, str) and not _OPTION_OR_ADDRESS.search(line):
            return str(Requirement(line))
    except InvalidRequirement:
        pass
    raise Malformed(
        f"{file} needs {str(line)[:60]!r}, which is no package with its versions, such as `mcp>=2,<3`: mend it"
    )


def _text(file: Path) -> str:
    if file.is_symlink() or file.stat().st_size > MAX_LOCK_BYTES:
        raise Malformed(f"{file} is a link, or larger than any such file: put a plain file there")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Malformed(f"{file} is not UTF-8 text") from None
