"""Durable writes of files and folders: after a crash each is there whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes, scratch: Path) -> None:
    """Write a file so that after a crash it is the old one or the new one, whole: write, fsync, rename, fsync folder.

    Args:
        path: where it goes; its folder is made if need be.
        data: the bytes.
        scratch: the temporary file, on the same file system; one left by a crash is written over.
    """
    make_folder(path.parent)
    # Whoever else may write the folder could have the scratch file lead to one that is not theirs: the signer's head.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(scratch, flags, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError as error:  # the system names no file here
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)
    try:
        scratch.rename(path)
    except OSError:  # such as a folder of that name
        scratch.unlink()
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Force the bytes of a file, or the names in a folder, to the disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents durably; on failure it is removed, so that a retry creates it again."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        try:
            sync(folder.parent)
        except OSError:
            with suppress(OSError):
                folder.rmdir()
            raise


def list_files(folder: Path) -> list[Path]:
    """Return the plain files below a folder, without scratch that somebody is writing."""
    paths = (path for path in sorted(folder.rglob("*")) if not path.is_symlink() and path.is_file())
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
