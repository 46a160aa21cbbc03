"""Private key files: written atomically with mode 0600, read only if no other user can read them.

A file is written to a temporary name in the same folder, synced, renamed into place, and the folder is synced, so a
crash leaves no file or the whole one, and of a replaced file the old one or the new. Where the last step fails, the new
name is removed: nothing may rely on a file that may not be on the disk. It has mode 0600 from its first byte on.
Reading refuses symbolic links and any file that its group or others may touch.

A temporary file is named `.<name>.<16 digits>`, and its writer holds a lock on it, which the kernel frees when the
writer dies. So the next writer can tell which temporary files were abandoned, and removes them.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from vault.errors import Locked, Malformed, Refused, reason_and_step
from vault.file_lock import locked
from vault.files import sync

FILE_MODE, FOLDER_MODE = 0o600, 0o700
MAX_SIZE = 64 * 1024
LOCK_TIMEOUT_SECONDS = 60.0
"""A minute, since whoever holds a folder's lock may have to ask a token, or a command, for a key."""

_DIGITS = 16
_SCRATCH = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}", re.DOTALL)


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
        raise Locked(f"A {what} cannot be written to {path}: {reason_and_step(error)}.") from None


def replace(path: Path, data: bytes, what: str) -> None:
    """Write a file over the one that is there.

    Raises:
        Locked: the place cannot be written to; the old file is as it was.
    """
    try:
        remove_abandoned(path.parent, path.name)
        with _kept(path) as old, _written(path, data) as new:
            new.rename(path)
            try:
                sync(path.parent)
            except OSError:
                _take_back(path, old)
                raise
    except OSError as error:
        raise Locked(f"The {what} at {path} cannot be written: {reason_and_step(error)}.") from None


@contextmanager
def exclusive_lock(folder: Path, what: str, patience: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the exclusive lock of a folder, and remove temporary files that dead writers left in it.

    Raises:
        Locked: there is no such folder.
        Unavailable: somebody else is at it for longer.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder, patience, f"changing the {what}", folder=True))
        except OSError as error:
            raise Locked(f"The {what} in {folder} cannot be changed: {reason_and_step(error)}.") from None
        for directory in [folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())]:
            remove_abandoned(directory)
        yield


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove temporary files that dead writers left, of one name or of any; those that cannot be removed stay."""
    paths: list[Path] = []
    with suppress(OSError):
        paths += folder.iterdir()
    for path in paths:
        if (match := _SCRATCH.fullmatch(path.name)) and name in {None, match["name"]}:
            with suppress(OSError):
                _remove_if_left(path)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Make a temporary folder beside `path`, which `remove_abandoned` leaves alone until the end of the block."""
    remove_abandoned(path.parent, path.name)
    with _held(path, lambda place: place.mkdir(mode=FOLDER_MODE)) as beside:
        yield beside


def read(path: Path, what: str) -> bytes:
    """Read a file of at most MAX_SIZE bytes.

    Raises:
        Locked: it is missing, cannot be read, or can be touched by others; the message gives the next step.
        Malformed: it is too large to be one of ours.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Locked(f"There is no {what} at {path}: put it back from a backup.") from None
    except OSError as error:
        raise Locked(f"The {what} at {path} cannot be opened: {reason_and_step(error)}.") from None
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
    remove_abandoned(path.parent, path.name)
    with _written(path, data) as new:
        os.link(new, path)  # unlike a rename, a link never replaces what somebody else made meanwhile
        try:
            sync(path.parent)
        except OSError:
            _take_back(path, None)
            raise


def _take_back(path: Path, old: Path | None) -> None:
    with suppress(OSError):
        if old is None:
            path.unlink()
        else:
            old.rename(path)


@contextmanager
def _written(path: Path, data: bytes) -> Iterator[Path]:
    """Force bytes to the disk in a file beside `path`."""
    with _held(path, lambda place: place.touch(FILE_MODE, exist_ok=False)) as beside:
        with beside.open("r+b") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield beside


@contextmanager
def _kept(path: Path) -> Iterator[Path | None]:
    """Yield the file that is there a second name, if there is one; it may hold what is to be destroyed."""
    if not path.exists():
        yield None
        return
    with _held(path, lambda place: _link(path, place)) as beside:
        yield beside
    with suppress(OSError):
        sync(path.parent)


def _link(path: Path, place: Path) -> None:
    """Return a file a second name; link(2) does not find one that is replaced at that moment, so it is asked again."""
    while True:
        try:
            return os.link(path, place)
        except FileNotFoundError:
            if not path.exists():
                raise


@contextmanager
def _held(path: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """Make something beside `path` and lock it, until it is gone at the end of the block."""
    descriptor = -1
    while descriptor < 0:
        beside = path.with_name(f".{path.name}.{secrets.token_hex(_DIGITS // 2)}")
        make(beside)
        try:
            descriptor = _lock(beside)
        except OSError:
            _remove(beside)
            raise
    try:
        yield beside
    finally:
        _remove(beside)
        os.close(descriptor)


def _lock(place: Path) -> int:
    """Lock what was just made; gives -1 if somebody swept it away before."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if place.exists():
        return descriptor
    os.close(descriptor)
    return -1


def _remove_if_left(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(place)
    finally:
        os.close(descriptor)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink()
