"""Signing keys of the log, of the months and of requests to hosted endpoints, sealed under the key ring.

A file is useless without the ring, and a key is bound to its use: a sealed task in its place does not open, nor does
the key of another use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Malformed
from vault.keys import private_files
from vault.keys.seal import Sealed, data_key_of, seal, unseal, unseal_with
from vault.ledger.signatures.note import Signer, Verifier

if TYPE_CHECKING:
    from vault.keys.ring import KeyRing

KEY_SIZE = 32
LOG, ENDPOINT = b"quarterturn/log-signing-key/v1", b"quarterturn/endpoint-signing-key/v1"
MONTH = b"quarterturn/month-signing-key/v1"
_WHAT = "signing key"


def store(path: Path, key: Ed25519PrivateKey, ring: KeyRing, use: bytes = LOG) -> None:
    """Seal a signing key into a new file of mode 0600, in the folder where the ring lies.

    Raises:
        Refused: there is a file at `path` already.
        Locked: there is no such folder, or it cannot be written to.
    """
    with private_files.exclusive_lock(path.parent, _WHAT):  # as `vault.store.rewrap` asks for
        private_files.create(path, seal(key.private_bytes_raw(), use, ring).to_json() + b"\n", _WHAT)


def load(path: Path, ring: KeyRing, use: bytes = LOG) -> Ed25519PrivateKey:
    """Open a signing key.

    Raises:
        Locked: the file is missing or open to others, or the ring does not hold the key that sealed it.
        Malformed, Broken: the file is not one that `store` wrote.
    """
    return _as_key(unseal(_sealed(private_files.read(path, _WHAT), path), use, ring), path)


def hand_over(path: Path, ring: KeyRing, use: bytes = LOG) -> tuple[bytes, bytes]:
    """Return a sealed key's file and the data key that opens it alone; the signing key itself is not opened here.

    Raises:
        Locked, Malformed, Broken: as `load` does.
    """
    data = private_files.read(path, _WHAT)
    return data, data_key_of(_sealed(data, path).wrapped_key, use, ring)


def load_handed_over(data: bytes, data_key: bytes, use: bytes = LOG) -> Ed25519PrivateKey:
    """Open a signing key that was handed over, in a process that has no key ring."""
    path = Path("handed over")
    return _as_key(unseal_with(_sealed(data, path), use, data_key), path)


@dataclass(frozen=True)
class SealedSigner:
    """A log's key that stays sealed until it signs.

    Attributes:
        name: its name, which is the log's origin.
        path: its file.
        ring: opens the key ring under which it is sealed.
    """

    name: str
    path: Path
    ring: Callable[[], KeyRing] = field(repr=False)

    @cached_property
    def opened(self) -> Signer:
        """The key itself."""
        return Signer(self.name, load(self.path, self.ring()))

    @property
    def verifier(self) -> Verifier:
        """The public half; the key is opened for it."""
        return self.opened.verifier

    def sign(self, text: str) -> str:
        """Sign a text that ends in a newline, and return the whole note."""
        return self.opened.sign(text)


def _sealed(data: bytes, path: Path) -> Sealed:
    return Sealed.from_json(data, f"the {_WHAT} at {path}")


def _as_key(raw: bytes, path: Path) -> Ed25519PrivateKey:
    if len(raw) != KEY_SIZE:
        raise Malformed(f"The {_WHAT} at {path} holds {len(raw)} bytes instead of {KEY_SIZE}.")
    return Ed25519PrivateKey.from_private_bytes(raw)
