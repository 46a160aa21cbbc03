"""Key pair to which runners seal what a serving left; the private half lies sealed under the key ring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from vault.keys import private_files
from vault.keys.ring import KeyRing
from vault.keys.seal import Sealed, seal, unseal

if TYPE_CHECKING:
    from sandbox.servings.handed_in import HandIn

USE = b"quarterturn/hand-in-key/v1"
_WHAT = "key of what runners hand in"


class HandInKey:
    """The key pair of one home, made when it is first needed.

    Args:
        path: the file of its sealed private half.
        ring: under which that is sealed.
    """

    def __init__(self, path: Path, ring: KeyRing) -> None:
        self._path, self._ring = path, ring
        self._private: X25519PrivateKey | None = None

    @property
    def public(self) -> bytes:
        """The public half, 32 bytes."""
        return self._load().public_key().public_bytes_raw()

    def open(self, handle: str, sealed: bytes) -> HandIn:
        """Open what a runner sealed for a serving.

        Raises:
            Malformed: it was sealed for another serving or to another key, or has no form of ours.
        """
        from sandbox.servings.sealing import open_hand_in  # noqa: PLC0415 - what rotates keys knows this module too

        return open_hand_in(handle, sealed, self._load())

    def _load(self) -> X25519PrivateKey:
        if self._private is None:
            with private_files.exclusive_lock(self._path.parent, _WHAT):  # as `vault.store.rewrap` asks for
                if not self._path.exists():
                    raw = X25519PrivateKey.generate().private_bytes_raw()
                    private_files.create(self._path, seal(raw, USE, self._ring).to_json() + b"\n", _WHAT)
            sealed = Sealed.from_json(private_files.read(self._path, _WHAT), f"the {_WHAT} at {self._path}")
            self._private = X25519PrivateKey.from_private_bytes(unseal(sealed, USE, self._ring))
        return self._private
