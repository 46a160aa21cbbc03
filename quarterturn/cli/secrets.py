"""Passphrases, and the database's address with its password: from the environment, else from the terminal or the
settings, never from an argument.

`take_secrets` runs before anything else does, so no process that is started later inherits the variables, and nobody
reads them in what the kernel shows of this one.
"""

from __future__ import annotations

import ctypes
import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.wiring import House

PASSPHRASE = "QUARTERTURN_PASSPHRASE"  # noqa: S105 - the variable's name
DATABASE = "QUARTERTURN_DATABASE"
_given: ContextVar[bytes | None] = ContextVar("passphrase", default=None)
_database: ContextVar[str | None] = ContextVar("database", default=None)


def take_secrets() -> None:
    """Take the passphrase and the database's address out of the environment and keep them; an empty one is none."""
    _given.set(_taken(PASSPHRASE.encode()))
    _database.set(os.fsdecode(_taken(DATABASE.encode()) or b"") or None)


def _taken(name: bytes) -> bytes | None:
    given = os.environb.get(name)
    if given is not None:
        _overwrite(name, len(given))
        del os.environb[name]
    return given or None


def passphrase() -> bytes | None:
    """Give the passphrase that was named from outside, or None; nobody is asked."""
    return _given.get()


def database() -> str | None:
    """Give the address of the database that was named from outside, or None."""
    return _database.get()


def _overwrite(name: bytes, length: int) -> None:
    """Put zeros where the variable's value stands: unsetting one leaves it in /proc/PID/environ, also of every fork."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    if address := libc.getenv(name):
        ctypes.memset(address, 0, length)


@contextmanager
def open_house(home: Path) -> Iterator[House]:
    """Open a home and unlock it, asking for the passphrase where one is needed and a person is there to give it.

    Raises:
        NotFound: there is no home.
        Malformed: its settings cannot be understood.
        Locked: the passphrase is missing or wrong.
    """
    from quarterturn.wiring import House
    from vault.errors import Locked

    house = House(home, _given.get(), database=_database.get())
    try:
        _ = house.ring
    except Locked as locked:
        if _given.get() is not None:
            raise
        if not sys.stdin.isatty():
            raise Locked(f"{locked} Put it into {PASSPHRASE}.") from None
        typed = getpass.getpass("Passphrase of the key ring: ").encode()
        house = House(home, typed, database=_database.get())
        _ = house.ring
    try:
        yield house
    finally:
        house.close()


def key_from(file: Path | None, prompt: str) -> str:
    """Take a key from a file that nobody else can read, or ask for it.

    Raises:
        Locked: the file is missing, or open to others.
        Malformed: nobody is there to ask, or the file is no text.
    """
    from vault import private_files

    if file is not None:
        try:
            return private_files.read(file, "key's file").decode("ascii")
        except UnicodeDecodeError:
            raise Malformed(f"{file} is no text, so it holds no key") from None
    if not sys.stdin.isatty():
        raise Malformed("there is nobody to ask for a key: put it into a file of mode 600 and name it with --file")
    return getpass.getpass(prompt)


def new_passphrase() -> bytes:
    """Take a new passphrase from the environment, or ask for it twice.

    Raises:
        Malformed: nobody is there to ask, it is empty, or the two differ.
    """
    if (given := _given.get()) is not None:
        return given
    if not sys.stdin.isatty():
        raise Malformed(f"there is nobody to ask for a passphrase: put it into {PASSPHRASE}")
    first = getpass.getpass("New passphrase: ").encode()
    if not first or first != getpass.getpass("The same again: ").encode():
        raise Malformed("the passphrase is empty or the two differ; nothing was made")
    return first
