"""Passphrase lock: the root key is encrypted under a key that Argon2id (RFC 9106) derives from a passphrase.

The parameters are in the document. The ring's schema bounds them, so that editing the file can neither exhaust memory
nor make the passphrase cheap to guess.

    sealed = nonce (12) || AES-256-GCM(Argon2id(passphrase), nonce, root key, context)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from vault.errors import Locked
from vault.keys.locks.lock import NONCE_SIZE, ROOT_SIZE, SCHEMA, Document, Maker, context, raw, text
from vault.schema import Schema

SALT_SIZE = 16
_COST = Schema(SCHEMA["$defs"]["cost"])


@dataclass(frozen=True, slots=True)
class Cost:
    """Argon2id's parameters; the default is RFC 9106's second recommended choice. Memory in KiB."""

    memory: int = 64 * 1024
    iterations: int = 3
    lanes: int = 4


DEFAULT_COST = Cost()


@dataclass(frozen=True, slots=True)
class Passphrase:
    """Sealer and opener that derive a key from a passphrase."""

    kind: ClassVar[str] = "passphrase"
    passphrase: bytes = field(repr=False)
    cost: Cost = DEFAULT_COST
    entropy: Callable[[int], bytes] = field(repr=False, default=os.urandom)

    def seal(self, root: bytes, name: str, ring: str) -> Document:
        """Seal a root key under a passphrase, with a fresh salt.

        Raises:
            Malformed: the cost is outside what a ring may ask for.
        """
        _COST.require(asdict(self.cost), "the cost of the passphrase")
        lock = {"name": name, "kind": self.kind, "salt": text(self.entropy(SALT_SIZE)), **asdict(self.cost)}
        nonce = self.entropy(NONCE_SIZE)
        sealed = nonce + self._wrapper(lock).encrypt(nonce, root, context(lock, ring))
        return {**lock, "sealed": text(sealed)}

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Open a root key with the passphrase."""
        sealed = raw(lock)
        try:
            return self._wrapper(lock).decrypt(sealed[:NONCE_SIZE], sealed[NONCE_SIZE:], context(lock, ring))
        except InvalidTag:
            raise Locked(
                "The passphrase does not open the key ring: give the right one, or put the ring's file back if it was "
                "changed."
            ) from None

    def again(self, lock: Mapping[str, Any]) -> Maker:
        """Return the sealer of the same passphrase, at the lock's cost."""
        return Passphrase(self.passphrase, Cost(lock["memory"], lock["iterations"], lock["lanes"]), self.entropy)

    def _wrapper(self, lock: Mapping[str, Any]) -> AESGCM:
        if not self.passphrase:
            raise Locked("A key ring's passphrase must not be empty.")
        derivation = Argon2id(
            salt=raw(lock, "salt"),
            length=ROOT_SIZE,
            iterations=lock["iterations"],
            lanes=lock["lanes"],
            memory_cost=lock["memory"],
        )
        return AESGCM(derivation.derive(self.passphrase))
