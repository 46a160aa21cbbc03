"""Locks of a key ring: each keeps the ring's root key in its own way, and any one of them gives it back.

A lock's document lies in the ring's file. It names the lock and its kind, says in plain text what whoever opens it must
know, and holds the root key sealed, bound to the ring and to all that the document says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vault.keys.locks.lock import Document, Maker, Opener

__all__ = ["ASKS", "Document", "Maker", "Opener", "asks"]

# A kind of lock -> what whoever wants to open it has to do.
ASKS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "file-mode": lambda _: "open it without a passphrase",
    "passphrase": lambda _: "give its passphrase",
    "pkcs11": lambda lock: f"give the PIN of the token '{lock['token']}'",
    "custodians": lambda lock: f"bring the shares of {lock['threshold']} custodians together ({_people(lock)})",
    "command": lambda lock: f"let {lock['command'][0]} unwrap it",
}


def asks(lock: Mapping[str, Any]) -> str:
    """Say what has to be done to open a lock."""
    return ASKS[lock["kind"]](lock)


def _people(lock: Mapping[str, Any]) -> str:
    return ", ".join(one["name"] for one in lock["custodians"])
