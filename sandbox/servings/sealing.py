"""Encryption of servings on their way to a runner, and of what it hands in on the way back.

A serving travels under a key of its own (AES-256-GCM, a fresh key of 256 bits), which its runner is given when it
starts it. A hand-in is sealed to the service's public key (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM), so that
no runner can open it again. Both are bound to the serving's handle.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from sandbox.errors import Malformed
from sandbox.servings.handed_in import MAX_BYTES, HandIn
from sandbox.servings.serving import Serving

NONCE_BYTES = 12
KEY_BYTES = 32
MAX_SEALED = MAX_BYTES + 1024
"""Bytes of a sealed hand-in."""
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def encrypt_serving(serving: Serving, key: bytes) -> bytes:
    """Encrypt a serving under a fresh key of 32 bytes, which is used for nothing else."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, serving.to_bytes(), serving.handle.encode("ascii"))


def decrypt_serving(handle: str, ciphertext: bytes, key: bytes) -> Serving:
    """Decrypt the serving of a handle.

    Raises:
        Malformed: the key is not its key, it is another one's, or it is no serving.
    """
    if len(key) != KEY_BYTES:
        raise Malformed(f"the key of serving {handle} has {len(key)} bytes, not {KEY_BYTES}")
    nonce, sealed = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
    try:
        serving = Serving.from_bytes(AESGCM(key).decrypt(nonce, sealed, handle.encode("ascii")))
    except (InvalidTag, ValueError):
        raise Malformed(f"serving {handle} cannot be decrypted: its key or its bytes are another's") from None
    if serving.handle != handle:
        raise Malformed(f"serving {handle} says that it is another one")
    return serving


def seal_hand_in(handle: str, hand_in: HandIn, public_key: bytes) -> bytes:
    """Seal a hand-in to the service's public key."""
    return _SUITE.encrypt(hand_in.to_bytes(), X25519PublicKey.from_public_bytes(public_key), handle.encode("ascii"))


def open_hand_in(handle: str, sealed: bytes, private_key: X25519PrivateKey) -> HandIn:
    """Open the hand-in of a serving.

    Raises:
        Malformed: it is too large, not sealed to this key, another serving's, or no hand-in.
    """
    if len(sealed) > MAX_SEALED:
        raise Malformed(f"the hand-in of serving {handle} has {len(sealed)} bytes; {MAX_SEALED} are allowed")
    try:
        data = _SUITE.decrypt(sealed, private_key, handle.encode("ascii"))
    except (InvalidTag, ValueError):
        raise Malformed(f"the hand-in of serving {handle} is not sealed to this service, or is another's") from None
    return HandIn.from_bytes(data)
