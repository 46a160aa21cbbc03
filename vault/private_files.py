"""Files that hold keys: written whole or not at all, and read only while nobody else can read them.

A file is written beside its place, forced to the disk, put into place and the folder forced to the disk, so a crash
leaves no file or the whole one, and of a file that is replaced the old one or the new. It has mode 0600 from its first
byte on. Reading refuses symbolic links and any file that its group or others may touch.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vault.errors import Locked, Malformed, Refused

FILE_MODE, FOLDER_MODE = 0o600, 0o700
MAX_SIZE = 64 * 1024


def create(path: Path, data: bytes, what: str) -> None:
    """Write a new file.

    Raises:
        Refused: there is one already; it is left as it is.
        Locked: the place cannot be written to.
    """
    try:
        _create(path, data)
    except FileExistsError:
        raise Refused(
            f"There is a {what} at {path} already; it was left as it is. Move it away to make a new one."
        ) from None
    except OSError as error:
        raise Locked(f"A {what} cannot be written to {path}: {error.strerror}.") from None


def replace(path: Path, data: bytes, what: str) -> None:
    """Write a file over the one that is there.

    Raises:
        Locked: the place cannot be written to; the old file is as it was.
    """
    beside = _beside(path)
    try:
        try:
            _write(beside, data)
            beside.rename(path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise Locked(f"The {what} at {path} cannot be written: {error.strerror}.") from None


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """Let one at a time change what is in a folder; the kernel lets go when a process ends.

    Raises:
        Locked: there is no such folder.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Locked(f"The {what} in {folder} cannot be changed: {error.strerror}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read(path: Path, what: str) -> bytes:
    """Read a file of at most MAX_SIZE bytes.

    Raises:
        Locked: it is missing, cannot be read, or can be touched by others; the message gives the next step.
        Malformed: it is too large to be one of ours.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Locked(f"There is no {what} at {path}.") from None
    except OSError as error:
        raise Locked(f"The {what} at {path} cannot be opened: {error.strerror}.") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise Locked(f"The {what} at {path} is not a plain file.")
        if stat.S_IMODE(mode) & ~FILE_MODE:
            raise Locked(f"The {what} at {path} is open to others (mode {stat.S_IMODE(mode):04o}): chmod 600 {path}")
        data = os.read(descriptor, MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_SIZE:
        raise Malformed(f"The {what} at {path} has more than {MAX_SIZE} bytes, so it is not one.")
    return data


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if path.exists() or path.is_symlink():
        raise FileExistsError(path)
    beside = _beside(path)
    try:
        _write(beside, data)
        os.link(beside, path)  # unlike a rename, a link never replaces what somebody else made meanwhile
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
    _sync_folder(path.parent)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
