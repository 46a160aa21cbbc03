"""Encryption between a service and its runners: of a serving on its way there, and of what it left on its way back.

    serving   nonce (12 bytes), then AES-256-GCM under a key of its own, with the handle as associated data
    hand-in   HPKE (RFC 9180), base mode: X25519, HKDF-SHA256, AES-256-GCM, with the handle in `info`

So what was made for one serving opens as no other's.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from sandbox.errors import Malformed

KEY_SIZE, NONCE_SIZE = 32, 12
_HAND_IN = b"quarterturn/hand-in/v1\n"
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def encrypt(handle: str, document: bytes) -> tuple[bytes, bytes]:
    """Encrypt a serving under a fresh key; return the ciphertext and the key."""
    key, nonce = os.urandom(KEY_SIZE), os.urandom(NONCE_SIZE)
    return nonce + AESGCM(key).encrypt(nonce, document, handle.encode()), key


def decrypt(handle: str, ciphertext: bytes, key: bytes) -> bytes:
    """Decrypt a serving.

    Raises:
        Malformed: it is another serving's, or was changed.
    """
    try:
        return AESGCM(key).decrypt(ciphertext[:NONCE_SIZE], ciphertext[NONCE_SIZE:], handle.encode())
    except (InvalidTag, ValueError):
        raise Malformed(f"the serving {handle} does not open with the key that was granted for it") from None


def seal(handle: str, hand_in: bytes, public: bytes) -> bytes:
    """Seal what a serving left to a service's public key."""
    return _SUITE.encrypt(hand_in, X25519PublicKey.from_public_bytes(public), info=_HAND_IN + handle.encode())


def unseal(handle: str, sealed: bytes, private: X25519PrivateKey) -> bytes:
    """Open what a serving left.

    Raises:
        Malformed: it was sealed for another serving or to another key, or was changed.
    """
    try:
        return _SUITE.decrypt(sealed, private, info=_HAND_IN + handle.encode())
    except (InvalidTag, ValueError):
        raise Malformed(f"what was handed in for the serving {handle} does not open") from None
