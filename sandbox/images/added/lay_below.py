"""Chooser of the files of Debian packages that an image gets: those where it has nothing.

    lay_below.py FOLDER INTO    what FOLDER/*/usr and FOLDER/*/etc hold and the root does not, moved into INTO

It runs in the build of an image, with that image as the root. Its own programs stay what they are, as in the bwrap box
(`sandbox.isolation.program_copies`), and nothing is laid through a link.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def lay_below(folder: Path, into: Path, root: Path = Path("/")) -> None:
    """Move what lies in the folders into another, but for what the root has."""
    into.mkdir()
    for server in sorted(folder.iterdir()):
        for at, folders, files in os.walk(server):
            inside = Path(at).relative_to(server)
            if any(os.path.lexists(top / inside) and not _is_folder(top / inside) for top in (root, into)):
                folders.clear()
                continue
            links = [name for name in folders if Path(at, name).is_symlink()]
            for name in (*files, *links):
                if not os.path.lexists(root / inside / name) and not os.path.lexists(into / inside / name):
                    (into / inside).mkdir(parents=True, exist_ok=True)
                    Path(at, name).rename(into / inside / name)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


if __name__ == "__main__":
    lay_below(Path(sys.argv[1]), Path(sys.argv[2]))
