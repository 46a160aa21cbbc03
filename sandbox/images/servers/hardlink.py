"""Hard-links the files of a folder that have the same bytes and mode. Used while an image is built."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def link(folder: Path) -> None:
    """Replace each plain file by a link to the first that is like it."""
    first: dict[tuple[int, int, bytes], Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        stat = path.stat()
        with path.open("rb") as file:
            like = (stat.st_mode, stat.st_size, hashlib.file_digest(file, "sha256").digest())
        if (other := first.setdefault(like, path)) is not path:
            path.unlink()
            path.hardlink_to(other)


if __name__ == "__main__":
    link(Path(sys.argv[1]))
