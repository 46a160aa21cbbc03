"""Locks of the key ring: listing, adding, removing, splitting among custodians, and copying the ring's file.

A change is written into the access log before it is made. A removed lock no longer opens the ring, but it still opens
an older copy of the ring's file: `remove` says whether the root key could be replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quarterturn.errors import NotFound, Refused
from quarterturn.home.paths import HomePaths
from vault.errors import VaultError
from vault.keys import private_files, ring_file
from vault.keys.locks import Maker, Opener
from vault.keys.ring import FileKeyRing
from vault.keys.ring_file import WHAT
from vault.keys.unlocking import protected
from vault.store.tasks import Vault


@dataclass(frozen=True, slots=True)
class LockChange:
    """A change of a ring's locks.

    Attributes:
        name: of the lock that was added or removed.
        locks: those that the ring has now.
        was_open: whether nothing protected the ring before.
        fresh_root: whether the root key was replaced.
    """

    name: str
    locks: Sequence[Mapping[str, Any]]
    was_open: bool = False
    fresh_root: bool = False


class KeyLocks:
    """The locks of one home's key ring.

    Args:
        ring: the ring, unlocked.
        path: of its file.
        vault: whose access log says who changed them.
    """

    def __init__(self, ring: FileKeyRing, path: Path, vault: Vault) -> None:
        self._ring, self._path, self._vault = ring, path, vault

    def add(self, maker: Maker, name: str | None, who: str) -> LockChange:
        """Add a lock.

        Raises:
            Refused: there is a lock of that name, or there are too many.
            Locked, Unavailable, Malformed: it cannot be made.
        """
        was_open = not protected(self._path)
        self._vault.note(who=who, what="ring/locks", why=f"add {name or maker.kind}")
        added = self._ring.add_lock(maker, name)
        return LockChange(added, self._ring.locks, was_open=was_open)

    def remove(self, name: str, openers: Sequence[Opener], who: str) -> LockChange:
        """Remove a lock; `openers` are tried on those that stay, for a fresh root key.

        Raises:
            NotFound: there is none of that name.
            Refused: it is the only one.
        """
        _ = self._ring.lock(name)  # nothing is written down about what is not there
        self._vault.note(who=who, what="ring/locks", why=f"remove {name}")
        fresh = self._ring.remove_lock(name, openers)
        return LockChange(name, self._ring.locks, fresh_root=fresh)

    def split(
        self, threshold: int, custodians: Mapping[str, str], folder: Path, *, name: str | None, who: str
    ) -> LockChange:
        """Write each custodian's file into a new folder, absent or whole, and add the lock that they open together.

        Raises:
            Refused: the folder is there already.
            Malformed: a threshold or a public key does not fit.
        """
        from vault.keys.locks.custodians import Split  # noqa: PLC0415 - its packages are there where it is wanted

        if folder.exists():
            raise Refused(f"{folder} is there already: name a new folder")

        def deliver(files: Mapping[str, bytes]) -> None:
            folder.parent.mkdir(parents=True, exist_ok=True)
            from quarterturn.backup.backup import whole  # noqa: PLC0415 - opening a ring needs no backup

            with whole(folder, f"the shares' folder {folder}") as writing:
                for custodian, data in files.items():
                    private_files.create(writing / f"{custodian}.age", data, "share")

        return self.add(Split(threshold, custodians, deliver), name, who)


def locks_of(places: HomePaths) -> list[dict[str, Any]]:
    """List the locks, without opening any.

    Raises:
        Locked, Malformed: the ring's file cannot be read, or is none.
    """
    return list(ring_file.read(places.ring)["locks"])


def kinds(places: HomePaths) -> set[str]:
    """Return the kinds of the locks; none where the ring cannot be read."""
    try:
        return {lock["kind"] for lock in locks_of(places)}
    except VaultError:
        return set()


def require_custodians(places: HomePaths) -> None:
    """Refuse a home that no custodians open.

    Raises:
        NotFound: the ring has no such lock.
    """
    if "custodians" not in kinds(places):
        raise NotFound(f"the key ring at {places.ring} has no custodians: `quarterturn keys split` makes some")


def copy(places: HomePaths, destination: Path, *, unprotected: bool) -> None:
    """Write the ring's file to another place, whole.

    Raises:
        Refused: something is there already, it lies in the home, or nothing protects the ring.
    """
    if destination.resolve().is_relative_to(places.home):
        raise Refused(f"{destination} lies in the home: a copy belongs on another disk")
    if not protected(places.ring) and not unprotected:
        raise Refused("the key ring's file is open to whoever reads it: add a lock first, or insist with --unprotected")
    private_files.create(destination, private_files.read(places.ring, WHAT), f"copy of the {WHAT}")
