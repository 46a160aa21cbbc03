"""Opens a key ring by the first lock that one of the given openers can open."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from vault.errors import Broken, Locked, Malformed, Refused, Unavailable, VaultError
from vault.keys import ring_file
from vault.keys.locks import asks
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.lock import Opener
from vault.keys.ring_file import WHAT

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")  # as the ring's schema has it


def protected(path: Path) -> bool:
    """Say whether every lock of a ring needs a secret, so that the file alone opens nothing.

    Raises:
        Locked, Malformed: it cannot be read, or is not one.
    """
    return all(lock["kind"] != FileMode.kind for lock in ring_file.read(path)["locks"])


def root_of(path: Path, openers: Sequence[Opener]) -> bytes:
    """Return the root key of a ring, from the first lock that one of the openers opens.

    Raises:
        Locked: the file is missing or open to others, no lock was opened, or a secret was wrong.
        Unavailable: what keeps the root key cannot be reached.
        Malformed: the file is not a key ring.
        Broken: a lock was changed.
    """
    document, failed = ring_file.read(path), []
    kinds = {lock["kind"] for lock in document["locks"]}
    for opener in openers:
        for lock in document["locks"]:
            if lock["kind"] == opener.kind:
                try:
                    return opener.open(lock, document["ring"])
                except (Locked, Broken, Unavailable) as error:
                    failed.append(error)
    if failed:
        raise failed[0].with_message(" ".join(dict.fromkeys(map(str, failed))))
    if kinds == {FileMode.kind}:
        raise Locked(f"the {WHAT} at {path} was made without a passphrase: leave the passphrase out.")
    raise Locked(f"the {WHAT} at {path} is locked; {', or '.join(map(asks, document['locks']))}.")


def sealed_again(
    lock: Mapping[str, Any], old: bytes, new: bytes, openers: Sequence[Opener]
) -> Mapping[str, Any] | None:
    """Seal a lock again around another root key; None where no opener opens it, or where it needs other people."""
    for opener in openers:
        if opener.kind == lock["kind"] and (maker := opener.again(lock)) is not None:
            with suppress(VaultError):
                if opener.open(lock, ring_file.ring_name(old)) == old:
                    return maker.seal(new, lock["name"], ring_file.ring_name(new))
    return None


def free_name(name: str | None, kind: str, taken: Collection[str]) -> str:
    """Return the requested name of a lock, or its kind with the first free number.

    Raises:
        Refused: there is a lock of that name.
        Malformed: it cannot be one; what is made for the lock is not begun then.
    """
    if name and not NAME.fullmatch(name):
        raise Malformed("a lock's name is of small letters, digits and dashes, 40 at most")
    if name in taken:
        raise Refused(f"The key ring has a lock {name} already: name another, or remove it first.")
    return name or next(
        candidate for candidate in chain([kind], (f"{kind}-{n}" for n in count(2))) if candidate not in taken
    )
