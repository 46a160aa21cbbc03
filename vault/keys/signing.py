"""Signing keys of the log, of the months and of requests to hosted endpoints, sealed under the key ring.

A file is useless without the ring, and a key is bound to its use: a sealed task in its place does not open, nor does
the key of another use.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Malformed
from vault.keys import private_files
from vault.keys.ring import KeyRing
from vault.keys.seal import Sealed, seal, unseal

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
    raw = unseal(Sealed.from_json(private_files.read(path, _WHAT), f"the {_WHAT} at {path}"), use, ring)
    if len(raw) != KEY_SIZE:
        raise Malformed(f"The {_WHAT} at {path} holds {len(raw)} bytes instead of {KEY_SIZE}.")
    return Ed25519PrivateKey.from_private_bytes(raw)
