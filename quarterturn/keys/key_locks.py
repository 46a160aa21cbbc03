"""Locks of the key ring: listing, adding, removing, splitting among custodians, and copying the ring's file.

A change is written into the access log before it is made. A removed lock no longer opens the ring, but it still opens
an older copy of the ring's file: `remove` says whether the root key could be replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quarterturn.app import Application
from quarterturn.backup.backup import whole
from quarterturn.errors import NotFound, Refused
from quarterturn.home.home import HomePaths
from quarterturn.report import Report
from vault.errors import VaultError
from vault.keys import private_files, ring_file
from vault.keys.locks import Maker, Opener, asks
from vault.keys.ring import FileKeyRing
from vault.keys.ring_file import WHAT
from vault.keys.unlocking import protected

ALONE = "nobody else can open this home: add another lock, or `quarterturn keys split` among custodians"
SHUT = "Only custodians open it now, so no service can start on it: `keys restore-from-shares` gives it a passphrase."
OPEN = "whoever can read {path} has all keys: protect it with `quarterturn keys add passphrase`"


def locks_of(places: HomePaths) -> list[dict[str, Any]]:
    """List the locks, without opening any.

    Raises:
        Locked, Malformed: the ring's file cannot be read, or is none.
    """
    return list(ring_file.read(places.ring)["locks"])


def kinds(places: HomePaths) -> set[str]:
    """Give the kinds of the locks; none where the ring cannot be read."""
    try:
        return {lock["kind"] for lock in locks_of(places)}
    except VaultError:
        return set()


def listing(house: Application) -> Report:
    """Say which locks there are and what opens each."""
    rows = [{"name": lock["name"], "kind": lock["kind"], "opens": asks(lock)} for lock in house.ring.locks]
    return Report(rows, [f"lock      {row['name']}  to open it, {row['opens']}" for row in rows])


def judged(places: HomePaths) -> tuple[bool, str]:
    """Say which locks there are; the answer is no where a single lock opens the home, or nothing protects it."""
    locks = locks_of(places)
    sentence = f"the key ring opens with {' or '.join(lock['name'] for lock in locks)}"
    if not protected(places.ring):
        return False, OPEN.format(path=places.ring)
    if len(locks) == 1 and locks[0]["kind"] != "custodians":
        return False, f"{sentence} alone; {ALONE}"
    return True, sentence


def add(house: Application, maker: Maker, name: str | None, who: str) -> Report:
    """Add a lock.

    Raises:
        Refused: there is a lock of that name, or there are too many.
        Locked, Unavailable, Malformed: it cannot be made.
    """
    ring, was_open = house.ring, not protected(house.places.ring)
    house.vault.note(who=who, what="ring/locks", why=f"add {name or maker.kind}")
    added = ring.add_lock(maker, name)
    lines = [f"{added} opens the key ring now. Copy {house.places.ring} again: older copies lack this lock."]
    if was_open:
        lines.append(
            "Older copies of it lie open: destroy them, and change the ring's key with `quarterturn keys rotate`."
        )
    return Report({"lock": added, "locks": _names(ring)}, lines)


def remove(house: Application, name: str, openers: Sequence[Opener], who: str) -> Report:
    """Remove a lock; `openers` are tried on those that stay, for a fresh root key.

    Raises:
        NotFound: there is none of that name.
        Refused: it is the only one.
    """
    ring = house.ring
    _ = ring.lock(name)  # nothing is written down about what is not there
    house.vault.note(who=who, what="ring/locks", why=f"remove {name}")
    fresh = ring.remove_lock(name, openers)
    lines = [f"{name} no longer opens the key ring; {', '.join(_names(ring))} does."]
    if fresh:
        lines.append("The root key is a fresh one; start again what runs on this home, and copy the ring's file again.")
    else:
        lines.append(
            "The root key is unchanged, since not every remaining lock could be opened here: whoever has an older copy "
            f"of the ring's file, and what opens {name}, still has it. For a fresh one, open the home with what is "
            "left, add any lock and remove it again."
        )
    if {lock["kind"] for lock in ring.locks} == {"custodians"}:
        lines.append(SHUT)
    return Report({"removed": name, "fresh_root": fresh, "locks": _names(ring)}, lines)


def split(
    house: Application, threshold: int, custodians: Mapping[str, str], folder: Path, *, name: str | None, who: str
) -> Report:
    """Write each custodian's file into a new folder, absent or whole, and add the lock that they open together.

    Raises:
        Refused: the folder is there already.
        Malformed: a threshold or a public key does not fit.
    """
    from vault.keys.locks.custodians import Split  # noqa: PLC0415 - its packages are there where it is wanted

    folder = folder.resolve()
    if folder.exists():
        raise Refused(f"{folder} is there already: name a new folder")

    def deliver(files: Mapping[str, bytes]) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with whole(folder, f"the shares' folder {folder}") as writing:
            for custodian, data in files.items():
                private_files.create(writing / f"{custodian}.age", data, "share")

    added = add(house, Split(threshold, custodians, deliver), name, who)
    lines = [
        f"{folder}: one file for each of {', '.join(custodians)}, encrypted to their own keys. Hand them out.",
        f"Any {threshold} of them open the home with a copy of {house.places.ring} and the verb",
        "`quarterturn keys restore-from-shares`.",
    ]
    if len(added.data["locks"]) == 1:
        lines.append(SHUT)
    data = {**added.data, "shares": str(folder), "threshold": threshold, "custodians": list(custodians)}
    return Report(data, [*lines, *added.lines[1:]])


def require_custodians(places: HomePaths) -> None:
    """Refuse a home that no custodians open.

    Raises:
        NotFound: the ring has no such lock.
    """
    if "custodians" not in kinds(places):
        raise NotFound(f"the key ring at {places.ring} has no custodians: `quarterturn keys split` makes some")


def copy(places: HomePaths, destination: Path, *, unprotected: bool) -> Report:
    """Write the ring's file to another place, whole.

    Raises:
        Refused: something is there already, it lies in the home, or nothing protects the ring.
    """
    if destination.resolve().is_relative_to(places.home):
        raise Refused(f"{destination} lies in the home: a copy belongs on another disk")
    if not protected(places.ring) and not unprotected:
        raise Refused("the key ring's file is open to whoever reads it: add a lock first, or insist with --unprotected")
    private_files.create(destination, private_files.read(places.ring, WHAT), f"copy of the {WHAT}")
    names = " or ".join(lock["name"] for lock in locks_of(places))
    line = f"{destination} opens with {names}, also after one of them was removed from the home's own."
    if not protected(places.ring):
        line = f"{destination} opens for whoever can read it: nothing but its mode protects it."
    return Report({"copy": str(destination)}, [line])


def _names(ring: FileKeyRing) -> list[str]:
    return [lock["name"] for lock in ring.locks]
