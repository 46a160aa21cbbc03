"""Signature verification by the package `cryptography`; the audit as one file has `ed25519.py` in its place."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

HAS_MLDSA44 = True


def ed25519_holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether an Ed25519 signature is a public key's over a message, as OpenSSL says."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def mldsa44_holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether an ML-DSA-44 signature (FIPS 204) is a public key's over a message."""
    try:
        MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
