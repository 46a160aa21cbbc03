"""Key ring file format: ring keys under a root key, the root key under each lock, and an HMAC over everything.

    ring    = "ring:" || SHA-256(root key)[:8]                        the root key's name
    key     = nonce (12) || AES-256-GCM(root key's wrapping key, nonce, ring key, ring, id and time)
    seal    = HMAC-SHA-256(root key's sealing key, canonical document without it)

The seal is checked before anything else is believed: a changed primary, entries that were swapped or left out, and a
lock that somebody put in are noticed. Locks are tried before the root key is there, so what they say is bound to what
they seal. Where a lock keeps nothing secret (file mode), whoever can write the file can make a ring of their own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.canonical import canonical, parse_object
from vault.errors import Broken, Locked, Malformed, Refused
from vault.keys import private_files
from vault.keys.locks.lock import NONCE_SIZE, SCHEMA, Document, raw, text
from vault.schema import Schema

FORMAT = "quarterturn/ring/v1"
NAME_SIZE = 8
WHAT = "key ring"
_RING_SCHEMA = Schema(SCHEMA)
_KEY_NAME, _ROOT_NAME = b"quarterturn/key-name/v1\n", b"quarterturn/root-name/v1\n"
_WRAPPING, _SEALING, _ENTRY = b"quarterturn/root-wraps/v1", b"quarterturn/root-seals/v1", b"quarterturn/ring-key/v1\n"
_TIME = "%Y-%m-%dT%H:%M:%SZ"

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class RingKey:
    """A key of the ring and when it was made, where that is known."""

    key_id: str
    secret: bytes = field(repr=False)
    made: datetime | None = None

    @classmethod
    def of(cls, secret: bytes, made: datetime | None) -> RingKey:
        """Make the entry of a key, named after the key itself; its time is kept in whole seconds."""
        named = hashlib.sha256(_KEY_NAME + secret).digest()[:NAME_SIZE].hex()
        return cls(f"file:{named}", secret, made and made.astimezone(UTC).replace(microsecond=0))


@dataclass(frozen=True, slots=True)
class RingContent:
    """Content of a ring file, and the stamp that the file had before it was read."""

    stamp: tuple[int, ...]
    root: bytes = field(repr=False)
    primary: str
    keys: Mapping[str, RingKey] = field(repr=False)
    locks: tuple[Mapping[str, Any], ...] = field(repr=False)


def ring_name(root: bytes) -> str:
    """Derive the name of a ring from its root key."""
    return f"ring:{hashlib.sha256(_ROOT_NAME + root).digest()[:NAME_SIZE].hex()}"


def read(path: Path) -> Document:
    """Read a ring's file and check its form, and nothing more.

    Raises:
        Locked: it is missing, or open to others.
        Malformed: it is no key ring.
    """
    what = f"the {WHAT} at {path}"
    document = parse_object(private_files.read(path, WHAT), what)
    _RING_SCHEMA.require(document, what)
    return document


def stamp(path: Path) -> tuple[int, ...]:
    """Return the stamp that tells one version of a file from the next."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def hold(path: Path, root: bytes, *, again: bool = False) -> RingContent:
    """Read a ring's file and open its keys; the stamp is taken first, so that a change in between is noticed later.

    Args:
        path: the file.
        root: its root key.
        again: whether it was opened before, so that another root key is no sign of a change by a stranger.

    Raises:
        Locked, Malformed, Broken: as `read` and `opened` do.
    """
    before, document, what = stamp(path), read(path), f"the {WHAT} at {path}"
    if again and document["ring"] != ring_name(root):
        raise Locked(
            f"{what} was given another root key since it was opened: start again, with what opens it now; if nobody "
            "changed its locks, restore the file from a copy."
        )
    keys = opened(document, root, what)
    return RingContent(before, root, document["primary"], {key.key_id: key for key in keys}, tuple(document["locks"]))


def opened(document: Mapping[str, Any], root: bytes, what: str) -> tuple[RingKey, ...]:
    """Return a ring's keys, oldest first.

    Raises:
        Broken: the document is not what was written under this root key.
        Malformed: it names a primary that it does not hold, or a key or lock twice.
    """
    broken = f"{what} was changed, or put together from several: restore the file from a copy."
    if ring_name(root) != document["ring"] or not hmac.compare_digest(raw(document, "seal"), _seal(document, root)):
        raise Broken(broken)
    if document["primary"] not in (ids := [entry["id"] for entry in document["keys"]]):
        raise Malformed(f"{what} is malformed at $.primary: the ring holds no key of that name.")
    if len(set(ids)) < len(ids):
        raise Malformed(f"{what} is malformed at $.keys: a name stands there twice.")
    try:
        keys = tuple(_unwrapped(entry, root, document["ring"]) for entry in document["keys"])
    except (InvalidTag, ValueError):
        raise Broken(broken) from None
    if any(key.key_id != name for key, name in zip(keys, ids, strict=True)):
        raise Broken(f"{what} holds another key than it names: restore the file from a copy.")
    return keys


def written(
    root: bytes, keys: Sequence[RingKey], primary: str, locks: Sequence[Mapping[str, Any]], entropy: Entropy
) -> bytes:
    """Write a ring's document.

    Raises:
        Malformed: it would be none that `read` accepts.
        Refused: it would be longer than what `read` reads.
    """
    ring = ring_name(root)
    document = {
        "format": FORMAT,
        "ring": ring,
        "primary": primary,
        "keys": [_wrapped(key, root, ring, entropy) for key in keys],
        "locks": list(locks),
    }
    document["seal"] = text(_seal(document, root))
    _RING_SCHEMA.require(document, f"the new {WHAT}")
    data = canonical(document) + b"\n"
    if len(data) > private_files.MAX_SIZE:
        raise Refused(
            f"The {WHAT} would have {len(data)} bytes, and no more than {private_files.MAX_SIZE} are read; it was left "
            "as it is. Remove a lock first, or give the new one shorter words."
        )
    return data


def _seal(document: Mapping[str, Any], root: bytes) -> bytes:
    rest = {name: document[name] for name in document if name != "seal"}
    return hmac.digest(_derived(root, _SEALING), canonical(rest), "sha256")


def _derived(root: bytes, use: bytes) -> bytes:
    return hmac.digest(root, use, "sha256")


def _about(key_id: str, made: str | None, ring: str) -> bytes:
    return _ENTRY + canonical({"ring": ring, "id": key_id, "made": made})


def _wrapped(key: RingKey, root: bytes, ring: str, entropy: Entropy) -> Document:
    made = key.made.strftime(_TIME) if key.made else None
    wrapper, nonce = AESGCM(_derived(root, _WRAPPING)), entropy(NONCE_SIZE)
    stored = nonce + wrapper.encrypt(nonce, key.secret, _about(key.key_id, made, ring))
    return {"id": key.key_id, "made": made, "key": text(stored)}


def _unwrapped(entry: Mapping[str, Any], root: bytes, ring: str) -> RingKey:
    stored, wrapper = raw(entry, "key"), AESGCM(_derived(root, _WRAPPING))
    secret = wrapper.decrypt(stored[:NONCE_SIZE], stored[NONCE_SIZE:], _about(entry["id"], entry["made"], ring))
    made = entry["made"] and datetime.strptime(entry["made"], _TIME).replace(tzinfo=UTC)
    return RingKey.of(secret, made)
