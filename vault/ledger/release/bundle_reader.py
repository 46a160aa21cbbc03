"""Strict reader of a release bundle from an untrusted source.

A bundle is a folder of plain files: anything else in it (links, devices, files that neither the manifest nor the log
lists) is refused, and so is a file whose bytes are not those of the manifest. The sizes of all files are compared, with
the manifest and with a cap, before any content is read: a sparse file of a terabyte costs nothing to make. Lines are
read one by one, with a cap, and each is canonical JSON of its shape. Nothing here decides whether what the files say is
true; that is `vault.ledger.audit.verify`.
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
from vault.ledger.signatures.note import MAX_NOTE
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.shape import DocumentShape
from vault.ledger.tree.merkle import HASH_BYTES
from vault.ledger.tree.tiles import LENGTH_BYTES, MAX_LEAF, WIDTH, Read

MAX_LINE = 1 << 20
MAX_WHOLE = 64 << 20
MAX_FILE = 1 << 30  # a file of results, which is never read whole
_CHUNK = 1 << 20
CAPS = {  # bytes, by the beginning of the name; the first that fits counts
    f"{contents.LOG}/tile/entries/": WIDTH * (LENGTH_BYTES + MAX_LEAF),
    f"{contents.LOG}/tile/": WIDTH * HASH_BYTES,
    f"{contents.LOG}/": MAX_NOTE,
    contents.MANIFEST: MAX_LINE,
    "": MAX_FILE,
}


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
            Malformed: it is no bundle, holds files that it does not list, or one that is too large.
            Broken: a file's bytes are not those that the manifest lists.
        """
        sizes = dict(_walk(folder, ""))
        present = frozenset(sizes)
        for name, size in sizes.items():
            _require_cap(name, size)
        data = _whole(folder / contents.MANIFEST, contents.MANIFEST)
        manifest = parse_canonical(data, contents.MANIFEST)
        contents.MANIFEST_SHAPE(manifest, contents.MANIFEST)
        in_log = frozenset(name for name in present if name.startswith(f"{contents.LOG}/"))
        if strangers := sorted(present - in_log - {contents.MANIFEST, *manifest["files"]}):
            raise Malformed(f"the bundle holds {strangers[0]!r}, which its manifest does not list", where=strangers[0])
        for name, listed in manifest["files"].items():
            _require_size(name, sizes.get(name), listed["bytes"])
        for name, listed in manifest["files"].items():
            _require_digest(folder / name, name, listed)
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


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
    """List the files with their sizes in bytes."""
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(folder / entry.name, f"{name}/")
                elif entry.is_file(follow_symlinks=False):
                    yield name, entry.stat(follow_symlinks=False).st_size
                else:
                    raise Malformed(f"the bundle holds {name!r}, which is neither a file nor a folder", where=name)
    except OSError as error:
        raise Malformed(
            f"the bundle {prefix or folder} cannot be read: {error.strerror}", where=prefix or str(folder)
        ) from error


def _require_cap(name: str, size: int) -> None:
    cap = next(cap for beginning, cap in CAPS.items() if name.startswith(beginning))
    if size > cap:
        raise Malformed(
            f"{name} has {size} bytes; such a file has at most {cap}",
            where=f"{name}: number of bytes",
            expected=f"0 to {cap}",
            found=size,
        )


def _require_size(name: str, size: int | None, listed: int) -> None:
    if size is None:
        raise Broken(f"{name} cannot be read: there is no such file", where=name)
    if size != listed:
        raise Broken(
            f"{name} has {size} bytes, the manifest lists {listed}",
            where=f"{name}: number of bytes",
            expected=listed,
            found=size,
        )


def _require_digest(path: Path, name: str, listed: Mapping[str, Any]) -> None:
    digest = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as file:
            while size <= listed["bytes"] and (chunk := file.read(_CHUNK)):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error
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
