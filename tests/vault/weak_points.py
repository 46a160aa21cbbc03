"""Ed25519 keys and signatures that lenient verifiers accept: second encodings of a point, and points of small order.

A point of small order has an order that divides 8. Under such a key A everybody can sign: take any S and R = [S]B, and
look for a message whose hash k is a multiple of 8; then [S]B = R + [k]A, because [k]A is the neutral element.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from itertools import count

from vault.ledger.signatures.ed25519 import BASE, L, P, _encoded, _times
from vault.ledger.signatures.note import key_id

SIGN = 1 << 255
ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
SMALL = [0, SIGN, 1, P - 1, *(y | sign for y in (ORDER_8, P - ORDER_8) for sign in (0, SIGN))]
"""The eight points of small order, each as RFC 8032 encodes it."""
AGAIN = [1 | SIGN, P - 1 | SIGN, P, P | SIGN, P + 1, P + 1 | SIGN]
"""Other encodings of five of them: x = 0 with a sign, or a y that is not below the prime."""
SECOND = [y | sign for y in range(P, 2**255) for sign in (0, SIGN)]
"""All encodings whose y is not below the prime, of points or of none."""


def write_vkey(name: str, kind: bytes, public: bytes) -> str:
    """Write a verifier key of any bytes, good or not."""
    return f"{name}+{key_id(name, kind, public).hex()}+{base64.b64encode(kind + public).decode()}"


def encoded(number: int) -> bytes:
    return number.to_bytes(32, "little")


def forged(public: bytes, prefix: bytes = b"") -> tuple[bytes, bytes]:
    """Sign under a key of small order without any secret; give the message, which begins with these bytes, and it."""
    scalar = 5
    r = _encoded(_times(scalar, BASE))
    for number in count():
        message = prefix + b"%d\n" % number
        if _hash(r, public, message) % L % 8 == 0:
            return message, r + encoded(scalar)
    raise AssertionError


def with_neutral_r(seed: bytes, message: bytes) -> tuple[bytes, bytes]:
    """Sign with a secret but with R = [0]B, of order 1; give the public key and the signature."""
    digest = bytearray(hashlib.sha512(seed).digest()[:32])
    digest[0] &= 248
    digest[31] = digest[31] & 127 | 64
    secret = int.from_bytes(digest, "little")
    public, r = _encoded(_times(secret, BASE)), encoded(1)
    return public, r + encoded(_hash(r, public, message) * secret % L)


def weak() -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield public keys, signatures and messages that fit the equation of RFC 8032 and prove nothing."""
    for number in (*SMALL, *AGAIN):
        message, signature = forged(encoded(number))
        yield encoded(number), signature, message
    public, signature = with_neutral_r(bytes(32), b"message")
    yield public, signature, b"message"


def vkeys(name: str, kind: bytes) -> list[str]:
    """Write every such key as a verifier key."""
    return [write_vkey(name, kind, encoded(number)) for number in (*SMALL, *AGAIN, *SECOND)]


def _hash(r: bytes, public: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + public + message).digest(), "little")
