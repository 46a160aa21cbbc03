"""Protocols of key ring locks, and the context that each lock binds its root key to."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, ClassVar, Protocol

from vault.canonical import canonical

ROOT_SIZE, NONCE_SIZE = 32, 12
SCHEMA: Mapping[str, Any] = json.loads(files("vault").joinpath("schemas/ring.json").read_bytes())  # of a whole ring
_LOCK = b"quarterturn/lock/v1\n"

Document = dict[str, Any]


class Maker(Protocol):
    """Protocol of what makes a lock: it seals a root key."""

    kind: ClassVar[str]

    def seal(self, root: bytes, name: str, ring: str) -> Document:
        """Seal a root key.

        Args:
            root: ROOT_SIZE bytes.
            name: the lock's, of which there is no other in the ring.
            ring: the ring's name, which follows from its root key.

        Raises:
            Locked: what keeps the root key does not let us.
            Unavailable: it cannot be reached.
        """
        ...


class Opener(Protocol):
    """Protocol of what opens locks of one kind; its repr shows no secret."""

    kind: ClassVar[str]

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Return back the root key.

        Raises:
            Locked: the secret is wrong, or the lock was changed.
            Broken: the lock was changed.
            Unavailable: what keeps the root key cannot be reached.
        """
        ...

    def again(self, lock: Mapping[str, Any]) -> Maker | None:
        """Return the sealer of a lock that opens with the same secret, or None where that needs other people."""
        ...


def context(lock: Mapping[str, Any], ring: str) -> bytes:
    """Return what a lock's root key is bound to: the ring's name, and all that the lock says in plain text."""
    return _LOCK + canonical({"ring": ring, "lock": {name: lock[name] for name in lock if name != "sealed"}})


def text(raw: bytes) -> str:
    """Encode bytes for a lock's document."""
    return base64.b64encode(raw).decode()


def raw(lock: Mapping[str, Any], name: str = "sealed") -> bytes:
    """Decode the sealed bytes of a lock's document whose form was checked."""
    return base64.b64decode(lock[name])
