"""Rotation of the key ring's primary key: rewraps the rows and key files of a home; lists what each key protects.

A file sealed in `keys/` is bound to a use that is not written in it, so `_use` has to know every use: a sealed file of
unknown use is never left behind, it keeps the older keys from being dropped. A file is replaced whole, by one process
at a time (`vault.keys.private_files.exclusive_lock`), so it is under one key or under the other and never lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine
from sqlmodel import Session

from quarterturn.errors import Refused
from quarterturn.home.paths import HomePaths
from quarterturn.keys import models
from quarterturn.progress import Progress
from quarterturn.runners import hand_in_key
from vault.errors import Malformed
from vault.files import list_files
from vault.keys import private_files, signing
from vault.keys.ring import FileKeyRing, KeyRing
from vault.keys.seal import Sealed, rewrap
from vault.store.rewrap import Rewrapping, WrappedCounts, protected_by

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
        for path in list_files(self._folder):
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
            self._places.hand_in_key: hand_in_key.USE,
        }
        if path.parent == self._places.model_keys:
            return models.use(path)
        if path not in known:
            raise Refused(f"{path} is sealed for an unknown use: move it out of {self._folder}")
        return known[path]


@dataclass(frozen=True, slots=True)
class RingKey:
    """One of a ring's keys.

    Attributes:
        key_id: names it.
        primary: whether new things are sealed under it.
        made: when it was made, where that is known.
        age_days: how many days ago that is.
        protects: what is under it.
    """

    key_id: str
    primary: bool
    made: datetime | None
    age_days: int | None
    protects: WrappedCounts


@dataclass(frozen=True, slots=True)
class RotatedKey:
    """A rotation that is finished.

    Attributes:
        key_id: the ring's key now.
        resumed: whether the rotation had been begun before.
        rewrapped: what was wrapped again.
        dropped: the keys that are gone.
    """

    key_id: str
    resumed: bool
    rewrapped: WrappedCounts
    dropped: tuple[str, ...]


class KeyRotation:
    """Rotation of one home's ring key.

    Args:
        engine: from `vault.database.open_engine`.
        ring: the ring, unlocked.
        files: the sealed files in `keys/`.
        clock: the present moment, with its time zone.
    """

    def __init__(self, engine: Engine, ring: FileKeyRing, files: KeyFiles, clock: Callable[[], datetime]) -> None:
        self._engine, self._ring, self._files, self._clock = engine, ring, files, clock

    def rotate(self, who: str, progress: Progress) -> RotatedKey:
        """Rotate the ring's key, or resume an interrupted rotation (`vault.store.rewrap`).

        Raises:
            Refused: something is under an older key still, which is kept.
        """
        work = Rewrapping(self._engine, self._ring, self._files, who, self._clock)
        begun = work.begin()
        with progress.progress("wrapping again", work.left()) as advance:
            wrapped = work.rewrap(advance)
        return RotatedKey(self._ring.key_id, not begun, wrapped, work.finish())

    def keys(self) -> list[RingKey]:
        """List the ring's keys, the oldest first."""
        with Session(self._engine) as session:
            protects = protected_by(session, self._ring, self._files)
        return [self._key(key_id, protects[key_id]) for key_id in self._ring.key_ids]

    def _key(self, key_id: str, protects: WrappedCounts) -> RingKey:
        made = self._ring.made(key_id)
        days = None if made is None else int((self._clock() - made).total_seconds() // _DAY)
        return RingKey(key_id, key_id == self._ring.key_id, made, days, protects)
