"""Secrets of the command line: passphrases, a token's PIN, the database's address; and opening a home with them.

They come from the environment, else from the terminal or the settings, never from an argument. `take_secrets` runs
before anything else does, so no process that is started later inherits the variables, and nobody reads them in
/proc/PID/environ. From then on the process writes no core dump (`vault.core_dumps`).
"""

from __future__ import annotations

import ctypes
import getpass
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.app import Application
    from quarterturn.home.paths import HomePaths
    from vault.keys.locks import Opener

PASSPHRASE = "QUARTERTURN_PASSPHRASE"  # noqa: S105 - the variables' names
NEXT_PASSPHRASE = "QUARTERTURN_NEW_PASSPHRASE"  # noqa: S105
PIN = "QUARTERTURN_PIN"
DATABASE = "QUARTERTURN_DATABASE"
TOKEN = "QUARTERTURN_TOKEN"  # noqa: S105 - likewise
WHERE: Mapping[str, str] = {  # a kind of lock -> where what opens it may stand
    "passphrase": f"Put it into {PASSPHRASE}.",
    "pkcs11": f"Put the PIN into {PIN}.",
    "custodians": "Custodians open it with `quarterturn keys restore-from-shares`.",
}
MIN_PASSPHRASE_CHARACTERS = 8
"""Of a new one, as NIST SP 800-63B has it for a secret that people remember; no older one is refused."""
_given: ContextVar[bytes | None] = ContextVar("passphrase", default=None)
_next: ContextVar[bytes | None] = ContextVar("next passphrase", default=None)
_pin: ContextVar[str | None] = ContextVar("pin", default=None)
_database: ContextVar[str | None] = ContextVar("database", default=None)
_token: ContextVar[str | None] = ContextVar("API token", default=None)


def take_secrets() -> None:
    """Move the secrets out of the environment into this process; an empty variable counts as unset."""
    from vault.core_dumps import (
        disable_core_dumps,  # only now: it may be somebody else's vault until `rooms` has looked
    )

    disable_core_dumps()
    _given.set(_taken(PASSPHRASE.encode()))
    _next.set(_taken(NEXT_PASSPHRASE.encode()))
    _pin.set(os.fsdecode(_taken(PIN.encode()) or b"") or None)
    _database.set(os.fsdecode(_taken(DATABASE.encode()) or b"") or None)
    _token.set(os.fsdecode(_taken(TOKEN.encode()) or b"") or None)


def _taken(name: bytes) -> bytes | None:
    given = os.environb.get(name)
    if given is not None:
        _overwrite(name, len(given))
        del os.environb[name]
    return given or None


def passphrase() -> bytes | None:
    """Return the passphrase from the environment, or None; does not prompt."""
    return _given.get()


def database() -> str | None:
    """Return the database's address from the environment, or None."""
    return _database.get()


def _overwrite(name: bytes, length: int) -> None:
    """Put zeros where the variable's value stands: unsetting one leaves it in /proc/PID/environ, also of every fork."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    if address := libc.getenv(name):
        ctypes.memset(address, 0, length)


@contextmanager
def open_app(home: Path, by: Sequence[Opener] | None = None, *, keys: bool = True) -> Iterator[Application]:
    """Open a home and unlock its key ring, prompting on a terminal for what opens it.

    Args:
        home: its folder.
        by: what opens it, and nothing else then does; nobody is asked.
        keys: whether the verb needs a key; without one the ring stays locked, and nobody is asked.

    Raises:
        NotFound: there is no home.
        Malformed: its settings cannot be understood.
        Locked: what opens it is missing or wrong.
        Unavailable: what opens it cannot be reached.
    """
    from quarterturn.home.paths import HomePaths

    places = HomePaths(home.resolve())
    places.require()
    from quarterturn.app import Application  # only now: where there is no home, this is said at once
    from vault.errors import Locked, Unavailable

    app = Application(home, None, database=_database.get(), openers=by or openers(places))
    try:
        if keys:
            _ = app.home.ring
    except (Locked, Unavailable) as shut:
        if by or _given.get() is not None or _pin.get() is not None:
            raise
        _ask(places, shut)
        app = Application(home, None, database=_database.get(), openers=openers(places))
        _ = app.home.ring
    try:
        yield app
    finally:
        app.close()


def openers(places: HomePaths) -> list[Opener]:
    """Return the openers that are available for a home's key ring, in the order in which to try them."""
    from quarterturn.keys.key_locks import kinds
    from vault.keys.locks.command import Command
    from vault.keys.locks.file_mode import FileMode
    from vault.keys.locks.passphrase import Passphrase

    given, pin = _given.get(), _pin.get()
    available: list[Opener] = [FileMode() if given is None else Passphrase(given)]
    if pin is not None and "pkcs11" in kinds(places):
        from vault.keys.locks.pkcs11 import Pkcs11

        available.append(Pkcs11(pin))
    return [*available, Command()]


def _ask(places: HomePaths, shut: Exception) -> None:
    """Ask for the passphrase, or for the PIN where there is none.

    Raises:
        Exception: of `shut`'s own kind, with where to put what opens the ring, if nobody is there, or nothing that can
            be typed would open it.
    """
    from quarterturn.keys.key_locks import kinds

    known = kinds(places)
    if not sys.stdin.isatty() or not known & {"passphrase", "pkcs11"}:
        raise type(shut)(" ".join([str(shut), *(hint for kind, hint in WHERE.items() if kind in known)])) from None
    if "passphrase" in known:
        _given.set(typed("Passphrase of the key ring: ").encode() or None)
    if "pkcs11" in known and _given.get() is None:
        _pin.set(pin())


def key_from(file: Path | None, prompt: str, what: str = "file with the key") -> str:
    """Take a key from a file that nobody else can read, or ask for it; `what` names the file in messages.

    Raises:
        Locked: the file is missing, or open to others.
        Malformed: nobody is there to ask, or the file is no text.
    """
    from vault.keys import private_files

    if file is not None:
        try:
            return private_files.read(file, what).decode("ascii")
        except UnicodeDecodeError:
            raise Malformed(f"{file} is no text: it is no {what}") from None
    if not sys.stdin.isatty():
        raise Malformed("there is nobody to ask for a key: put it into a file of mode 600 and name it with --file")
    return typed(prompt)


def api_token(file: Path | None) -> str:
    """Take an API token from a file that nobody else can read, from the environment, or ask for it.

    Raises:
        Locked: the file is missing, or open to others.
        Malformed: nobody is there to ask, or the file is no text.
    """
    if file is None and (given := _token.get()) is not None:
        return given
    if file is None and not sys.stdin.isatty():
        raise Malformed(f"your token is missing: put it into {TOKEN}, or into a file of mode 600 for --token-file")
    return key_from(file, "API token: ", "file with the token").strip()


def new_passphrase() -> bytes:
    """Take the passphrase of a new home from the environment, or ask for it twice.

    Raises:
        Malformed: nobody is there to ask, it is too short, or the two differ.
    """
    return _long_enough(_given.get() or _typed_twice(PASSPHRASE))


def next_passphrase() -> bytes:
    """Take another passphrase for a home, like `new_passphrase`; the one that opens it now has its own variable."""
    return _long_enough(_next.get() or _typed_twice(NEXT_PASSPHRASE))


def _long_enough(new: bytes) -> bytes:
    if len(new.decode(errors="replace")) < MIN_PASSPHRASE_CHARACTERS:
        raise Malformed(
            f"a passphrase has at least {MIN_PASSPHRASE_CHARACTERS} characters: whoever copies the key ring's file can "
            "try all shorter ones, and nobody sees it; take several words"
        )
    return new


def pin() -> str:
    """Take a token's PIN from the environment, or ask for it.

    Raises:
        Malformed: nobody is there to ask.
    """
    if (given := _pin.get()) is not None:
        return given
    if not sys.stdin.isatty():
        raise Malformed(f"there is nobody to ask for the token's PIN: put it into {PIN}")
    return typed("PIN of the token: ")


def typed(prompt: str) -> str:
    """Prompt for a secret on the terminal; the end of input counts as an interrupt."""
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise KeyboardInterrupt from None


def _typed_twice(variable: str) -> bytes:
    if not sys.stdin.isatty():
        raise Malformed(f"there is nobody to ask for a passphrase: put it into {variable}")
    first = typed("New passphrase: ").encode()
    if not first or first != typed("The same again: ").encode():
        raise Malformed("the passphrase is empty or the two differ; nothing was made")
    return first
