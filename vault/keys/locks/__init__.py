"""Locks of a key ring: each holds the root key sealed in its own way, and any one of them opens the ring.

A lock's document is part of the ring's file. It names the lock and its kind, states in plain text what it takes to
open it, and holds the root key sealed, bound to the ring and to everything that the document says.

A new kind of lock needs a module here, its line in `ASKS`, its shape in `vault/schemas/ring.json`, a verb in
`quarterturn.cli.setup.keys`, and an opener in `quarterturn.cli.terminal.secrets`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vault.keys.locks.lock import Document, Maker, Opener

__all__ = ["ASKS", "Document", "Maker", "Opener", "asks"]

# A kind of lock -> what whoever wants to open it has to do.
ASKS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "file-mode": lambda _: "be the user who may read its file: it has no passphrase",
    "passphrase": lambda _: "give its passphrase",
    "pkcs11": lambda lock: f"give the PIN of the token '{lock['token']}'",
    "custodians": lambda lock: f"bring the shares of {lock['threshold']} custodians together ({_people(lock)})",
    "command": lambda lock: f"let {lock['command'][0]} unwrap it",
}


def asks(lock: Mapping[str, Any]) -> str:
    """Say what has to be done to open a lock."""
    return ASKS[lock["kind"]](lock)


def _people(lock: Mapping[str, Any]) -> str:
    return ", ".join(custodian["name"] for custodian in lock["custodians"])
