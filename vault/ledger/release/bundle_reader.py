"""Strict reader of a release bundle from an untrusted source.

A bundle is a folder of plain files: anything else in it (links, devices, files that neither the manifest nor the log
lists) is refused, and so is a file whose bytes are not those of the manifest. Lines are read one by one, with a cap,
and each is canonical JSON of its shape. Nothing here decides whether what the files say is true; that is
`vault.ledger.audit.verify`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vault.errors import Broken, Malformed
from vault.ledger.release import contents
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.shape import DocumentShape
from vault.ledger.tree.tiles import Read

MAX_LINE = 1 << 20
MAX_WHOLE = 64 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """A bundle whose content files are those of its manifest.

    Attributes:
        folder: where it lies.
        manifest: the parsed manifest.
        manifest_digest: sha256 (hex) of its bytes.
        log_files: the files below `log/`, relative to it.
    """

    folder: Path
    manifest: Mapping[str, Any] = field(repr=False)
    manifest_digest: str
    log_files: frozenset[str] = field(repr=False)

    @classmethod
    def read(cls, folder: Path) -> Bundle:
        """Read the manifest and compare every content file with it.

        Raises:
            Malformed: it is no bundle, or holds files that it does not list.
            Broken: a file's bytes are not those that the manifest lists.
        """
        present = frozenset(_walk(folder, ""))
        data = _whole(folder / contents.MANIFEST, contents.MANIFEST)
        manifest = parse_canonical(data, contents.MANIFEST)
        contents.MANIFEST_SHAPE(manifest, contents.MANIFEST)
        in_log = frozenset(name for name in present if name.startswith(f"{contents.LOG}/"))
        if strangers := sorted(present - in_log - {contents.MANIFEST, *manifest["files"]}):
            raise Malformed(f"the bundle holds {strangers[0]!r}, which its manifest does not list", where=strangers[0])
        for name, listed in manifest["files"].items():
            _require_listed(folder / name, name, listed)
        prefix = len(contents.LOG) + 1
        return cls(folder, manifest, hashlib.sha256(data).hexdigest(), frozenset(name[prefix:] for name in in_log))

    @property
    def read_log(self) -> Read:
        """Give a reader of the files below `log/`."""
        return lambda path: _whole(self.folder / contents.LOG / path, f"{contents.LOG}/{path}")

    def whole(self, name: str) -> bytes:
        """Read one content file."""
        return _whole(self.folder / name, name)

    def raw_lines(self, name: str) -> Iterator[bytes]:
        """Read the lines of a content file, without their ends.

        Raises:
            Malformed: a line is longer than 1 MiB, or the last one has no end.
        """
        try:
            with (self.folder / name).open("rb") as file:
                number = 0
                while line := file.readline(MAX_LINE):
                    number += 1
                    if not line.endswith(b"\n"):
                        raise Malformed(
                            f"line {number} of {name} is cut short or longer than {MAX_LINE} bytes",
                            where=f"line {number} of {name}",
                        )
                    yield line[:-1]
        except OSError as error:
            raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error

    def lines(self, name: str, shape: DocumentShape) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Read the lines of a content file as canonical JSON of a shape; gives each line's bytes and its value."""
        for number, line in enumerate(self.raw_lines(name), 1):
            yield line, shape.parse(line, f"line {number} of {name}")


def _walk(folder: Path, prefix: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(folder / entry.name, f"{name}/")
                elif entry.is_file(follow_symlinks=False):
                    yield name
                else:
                    raise Malformed(f"the bundle holds {name!r}, which is neither a file nor a folder", where=name)
    except OSError as error:
        raise Malformed(
            f"the bundle {prefix or folder} cannot be read: {error.strerror}", where=prefix or str(folder)
        ) from error


def _require_listed(path: Path, name: str, listed: Mapping[str, Any]) -> None:
    digest = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error
    if size != listed["bytes"]:
        raise Broken(
            f"{name} has {size} bytes, the manifest lists {listed['bytes']}",
            where=f"{name}: number of bytes",
            expected=listed["bytes"],
            found=size,
        )
    if digest.hexdigest() != listed["sha256"]:
        raise Broken(
            f"{name} has the sha256 {digest.hexdigest()}, the manifest lists {listed['sha256']}",
            where=f"{name}: sha256",
            expected=listed["sha256"],
            found=digest.hexdigest(),
        )


def _whole(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_WHOLE or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Malformed(f"{name} is no plain file of at most {MAX_WHOLE} bytes", where=name)
            return file.read()
    except OSError as error:
        raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error
