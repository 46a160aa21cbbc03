"""Folder of an export, written whole or not at all: into a neighbour first, which is renamed at the end."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from quarterturn.errors import Refused, Unavailable
from vault.files import make_folder, sync

PROGRAM = 0o755
PLAIN = 0o644


def require_new(folder: Path) -> None:
    """Refuse a place where something is already, or where nothing can be written.

    Raises:
        Refused: it is a file, or a folder that holds something.
        Unavailable: this user may not write beside it.
    """
    if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise Refused(f"--out {folder} is there already; name a folder that is not, or an empty one")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise Unavailable(f"--out {folder} cannot be written: {above} is no folder that this user may write into")


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of an export; those whose name ends in `.sh` are made executable.

    Args:
        folder: where they go; it is not there, or empty.
        files: path in the folder -> bytes.

    Raises:
        Refused: something is there already.
        OSError: the disk is full, or cannot be written; nothing is left behind.
    """
    require_new(folder)
    place = folder.absolute()
    make_folder(place.parent)
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.new")
    try:
        for name, data in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(PROGRAM if name.endswith(".sh") else PLAIN)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync(place.parent)
