"""Rotation of the key ring's primary key: rewraps the rows and key files of a home; lists what each key protects.

A file sealed in `keys/` is bound to a use that is not written in it, so `_use` has to know every use: a sealed file of
unknown use is never left behind, it keeps the older keys from being dropped. A file is replaced whole, by one process
at a time (`vault.keys.private_files.exclusive_lock`), so it is under one key or under the other and never lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import Session

from quarterturn.app import Application
from quarterturn.backup.backup import files
from quarterturn.errors import Refused
from quarterturn.home.home import HomePaths
from quarterturn.progress import Progress
from quarterturn.report import Report
from quarterturn.runs import models
from vault.errors import Malformed
from vault.keys import private_files, signing
from vault.keys.ring import KeyRing
from vault.keys.seal import Sealed, rewrap
from vault.store.rewrap import Rewrapping, protected_by

_WHAT = "key's file"
_DAY = 86_400


class KeyFiles:
    """The sealed files in a home's `keys/` (`vault.store.rewrap.SealedFiles`)."""

    def __init__(self, places: HomePaths, ring: KeyRing) -> None:
        self._places, self._ring = places, ring
        self._folder = places.ring.parent

    def under(self) -> Mapping[str, int]:
        """Count the files under each key."""
        return Counter(sealed.key_id for _, sealed in self._sealed())

    def rewrap(self) -> int:
        """Wrap what is under an older key again, and say how many files that were.

        Raises:
            Refused: nobody knows what a file is for.
        """
        with private_files.exclusive_lock(self._folder, _WHAT):
            older = [(path, sealed) for path, sealed in self._sealed() if sealed.key_id != self._ring.key_id]
            for path, sealed in older:
                key_id, wrapped = rewrap(sealed.wrapped_key, self._use(path), self._ring)
                again = Sealed(key_id, wrapped, sealed.nonce, sealed.ciphertext)
                private_files.replace(path, again.to_json() + b"\n", _WHAT)
        return len(older)

    def _sealed(self) -> Iterator[tuple[Path, Sealed]]:
        for path in files(self._folder):
            if path != self._places.ring:
                try:
                    yield path, Sealed.from_json(private_files.read(path, _WHAT), f"the {_WHAT} at {path}")
                except Malformed:  # something else that somebody keeps there; ours can be made again from no key either
                    continue

    def _use(self, path: Path) -> bytes:
        known = {
            self._places.log_key: signing.LOG,
            self._places.next_log_key: signing.LOG,
            self._places.endpoint_key: signing.ENDPOINT,
            self._places.month_key: signing.MONTH,
        }
        if path.parent == self._places.model_keys:
            return models.use(path)
        if path not in known:
            raise Refused(f"{path} is sealed for an unknown use: move it out of {self._folder}")
        return known[path]


def rotate(house: Application, who: str, progress: Progress) -> Report:
    """Rotate the ring's key, or resume an interrupted rotation (`vault.store.rewrap`).

    Raises:
        Refused: something is under an older key still, which is kept.
    """
    work = Rewrapping(house.engine, house.ring, KeyFiles(house.places, house.ring), who, house.now)
    begun = work.begin()
    with progress.progress("wrapping again", work.left()) as advance:
        wrapped = work.rewrap(advance)
    dropped = work.finish()
    data = {
        "key_id": house.ring.key_id,
        "resumed": not begun,
        "rewrapped": {"tasks": wrapped.tasks, "blobs": wrapped.blobs, "files": wrapped.files},
        "dropped": list(dropped),
    }
    lines = [
        f"{house.ring.key_id} is the ring's key now; {wrapped} were wrapped again under it.",
        f"Dropped: {', '.join(dropped)}. Backups of before open only with a copy of {house.places.ring} of before.",
        f"Copy {house.places.ring.parent} again: older copies do not open what is sealed from now on.",
    ]
    return Report(data, lines)


def listing(house: Application) -> Report:
    """Say of each of the ring's keys how old it is, whether it is in use, and what it protects."""
    ring, now = house.ring, house.now()
    with Session(house.engine) as session:
        protects = protected_by(session, ring, KeyFiles(house.places, ring))
    data = [
        {
            "key_id": key_id,
            "primary": key_id == ring.key_id,
            **_age(ring.made(key_id), now),
            "tasks": protects[key_id].tasks,
            "blobs": protects[key_id].blobs,
            "files": protects[key_id].files,
        }
        for key_id in ring.key_ids
    ]
    lines = [
        f"ring      {row['key_id']}  {'primary' if row['primary'] else 'old'}, {_old(row)}, "
        f"protects {protects[row['key_id']]}"
        for row in data
    ]
    return Report(data, lines)


def _age(made: datetime | None, now: datetime) -> dict[str, Any]:
    days = None if made is None else int((now - made).total_seconds() // _DAY)
    return {"made": made and made.isoformat(), "age_days": days}


def _old(row: Mapping[str, Any]) -> str:
    return "of unknown age" if row["made"] is None else f"{row['age_days']} days old"
