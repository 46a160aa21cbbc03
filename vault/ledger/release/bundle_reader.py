"""Reader of a release folder from an untrusted source.

It is a folder of plain files: those of its manifest, with their sizes and digests, and those of the
log. Sizes are compared before any content is read: a sparse file of a terabyte costs nothing to
make. Lines are read one by one, and each is canonical JSON of its form.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from vault.errors import Broken, Malformed
from vault.ledger.release.contents import FORMS, LOG, MANIFEST
from vault.ledger.statements.forms import parse_form
from vault.ledger.statements.rules import agree, disagreement

MAX_LINE = 1 << 20
CAPS = {  # bytes, by the beginning of the name; the first that fits counts
    f"{LOG}/tile/entries/": 256 * (2 + 0xFFFF),
    f"{LOG}/tile/": 256 * 32,
    f"{LOG}/": 1 << 20,
    MANIFEST: MAX_LINE,
    "": 1 << 30,
}


@dataclass(frozen=True)
class Bundle:
    """A release whose content files are those of its manifest.

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
            Malformed: it is no release, or holds a file that is too large.
            Broken: its files are not those that the manifest lists.
        """
        sizes = dict(_walk(folder, ""))
        for name, size in sizes.items():
            cap = next(cap for beginning, cap in CAPS.items() if name.startswith(beginning))
            if size > cap:
                what = f"{name} has {size} bytes; such a file has at most {cap}"
                raise Malformed(what, where=name, expected=f"0 to {cap}", found=size)
        data = _read(folder / MANIFEST, MANIFEST)
        manifest = parse_form(FORMS[MANIFEST], data, MANIFEST)
        log = {name for name in sizes if name.startswith(f"{LOG}/")}
        listed = {MANIFEST, *manifest["files"]}
        for name in sorted(sizes.keys() - log ^ listed):
            raise disagreement("file.listed", name, sorted(listed), name if name in sizes else None)
        for name, item in manifest["files"].items():
            agree("file.digest", f"{name}: number of bytes", item["bytes"], sizes[name])
        bundle = cls(folder, manifest, sha256(data).hexdigest(), frozenset(n[4:] for n in log))
        for name, item in manifest["files"].items():
            digest = sha256()
            for piece in bundle.pieces(name):
                digest.update(piece)
            agree("file.digest", f"{name}: sha256", item["sha256"], digest.hexdigest())
        return bundle

    def log_file(self, path: str) -> bytes:
        """Read a file below `log/`."""
        return _read(self.folder / LOG / path, f"{LOG}/{path}")

    def pieces(self, name: str) -> Iterator[bytes]:
        """Read a content file by mebibytes; one that grew meanwhile not much beyond its size."""
        left = self.manifest["files"][name]["bytes"]
        with _reading(name), (self.folder / name).open("rb") as file:
            while left >= 0 and (piece := file.read(MAX_LINE)):
                left -= len(piece)
                yield piece

    def lines(self, name: str) -> Iterator[tuple[str, bytes, Any]]:
        """Read the lines of a content file: where each stands, its bytes, and its value.

        Raises:
            Malformed: a line is longer than 1 MiB, has no end, or is not canonical JSON of its form.
        """
        form = FORMS[name]
        with _reading(name), (self.folder / name).open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
                where = f"line {number} of {name}"
                if not line.endswith(b"\n"):
                    what = f"{where} is cut short or longer than {MAX_LINE} bytes"
                    raise Malformed(what, where=where)
                yield where, line[:-1], parse_form(form, line[:-1], where)


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
    """List the files with their sizes in bytes."""
    with _reading(prefix or str(folder)), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name, f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield name, entry.stat(follow_symlinks=False).st_size
            else:
                raise Malformed(f"{name!r} is neither a file nor a folder", where=name)


def _read(path: Path, name: str) -> bytes:
    with _reading(name):
        return path.read_bytes()


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Refuse a release of which something cannot be read."""
    try:
        yield
    except OSError as error:
        raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error
