"""Sealed blobs: traces, evidence, salts of runs and the vault's own keys, one named row each."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Engine
from sqlmodel import Session

from vault.canonical import canonical
from vault.database import join_or_begin
from vault.errors import Refused
from vault.keys.ring import KeyRing
from vault.keys.seal import seal, unseal
from vault.store.tables import BlobRow

OWN = "vault/"
"""Names that begin like this are the vault's own and are never handed out."""

MAX_NAME = 290
_TAG = b"quarterturn/tag/v1\n"


def require_free(name: str) -> None:
    """Refuse a name that is reserved for the vault's own keys, or is not a valid name."""
    if name.startswith(OWN) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise Refused(f"{name[:40]!r} is not a valid blob name: 1 to {MAX_NAME} printable characters, not {OWN}*.")


def put(
    session: Session, name: str, data: bytes, *, ring: KeyRing, now: datetime, entropy: Callable[[int], bytes]
) -> BlobRow:
    """Seal bytes under a new name, in the caller's transaction.

    Raises:
        Refused: the name is taken.
    """
    if session.get(BlobRow, name) is not None:
        raise Refused(f"There is a sealed {name!r} already; it was left as it is.")
    row = BlobRow(name=name, created_at=now, **seal(data, context(name, now), ring, entropy).columns())
    session.add(row)
    session.flush()
    return row


def context(name: str, created_at: datetime) -> bytes:
    """Return the context that a blob is bound to."""
    moment = created_at.astimezone(UTC).isoformat(timespec="microseconds")
    return canonical({"kind": "quarterturn/blob-row/v1", "name": name, "created_at": moment})


class OwnKey:
    """A 32-byte key that the vault makes for itself.

    It is generated on first use and kept as a blob. It is cached only once it is committed, so that nothing made with
    it outlives a transaction that was rolled back.
    """

    def __init__(self, name: str, engine: Engine, ring: KeyRing) -> None:
        self._name = f"{OWN}{name}"
        self._engine = engine
        self._ring = ring
        self._key: bytes | None = None

    def get(self, now: datetime, entropy: Callable[[int], bytes], session: Session | None) -> bytes:
        """Return the key, made in the caller's transaction if there is none yet."""
        return self._key or self._committed() or self._new(now, entropy, session)

    def _committed(self) -> bytes | None:
        with Session(self._engine) as session:
            row = session.get(BlobRow, self._name)
            if row is not None:
                self._key = self._opened(row)
        return self._key

    def _new(self, now: datetime, entropy: Callable[[int], bytes], session: Session | None) -> bytes:
        with join_or_begin(self._engine, session) as own:
            row = own.get(BlobRow, self._name)
            return self._opened(row or put(own, self._name, entropy(32), ring=self._ring, now=now, entropy=entropy))

    def _opened(self, row: BlobRow) -> bytes:
        return unseal(row.sealed(), context(row.name, row.created_at), self._ring)


class BlindIndex:
    """Keyed tags for equality search: equal for equal values, and meaningless without the key."""

    def __init__(self, engine: Engine, ring: KeyRing) -> None:
        self._key = OwnKey("index-key", engine, ring)

    def tag(
        self, label: str, value: str, now: datetime, entropy: Callable[[int], bytes], session: Session | None
    ) -> str:
        """Return a tag as hexadecimal digits."""
        key = self._key.get(now, entropy, session)
        return hmac.digest(key, _TAG + canonical([label, value], "what is tagged"), "sha256").hex()
