"""Pure-Python Ed25519 verification (RFC 8032, section 5.1.7), only for the audit as a single file.

It verifies public data only, so it need be neither fast nor constant-time. Like OpenSSL it compares
`[S]B - [k]A` with the bytes of R, without a cofactor; it refuses an S that is not below the group's order, and a public
key that is not the one encoding of its point. Which other keys are refused is the rule of `strict_ed25519.py`.
ML-DSA-44 has no verifier here: where the package `cryptography` is installed, it is asked for that alone.
"""

from __future__ import annotations

import hashlib

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except ImportError:
    MLDSA44PublicKey = None  # type: ignore[assignment,misc]

    class InvalidSignature(Exception):  # type: ignore[no-redef]
        """The signature is not this key's over this message."""


P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
_ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1
_BITS, _SIZE, _SIGNATURE = 255, 32, 64

Point = tuple[int, int, int, int]  # extended coordinates X, Y, Z, T: x = X/Z, y = Y/Z, xy = T/Z


class Ed25519PublicKey:
    """A public key, with the two methods of `cryptography`'s that verifying needs."""

    def __init__(self, data: bytes) -> None:
        self._data, self._point = data, _decoded(data)

    @classmethod
    def from_public_bytes(cls, data: bytes) -> Ed25519PublicKey:
        """Read 32 bytes.

        Raises:
            ValueError: they are no public key.
        """
        return cls(data)

    def verify(self, signature: bytes, message: bytes) -> None:
        """Verify a signature.

        Raises:
            InvalidSignature: it does not hold.
        """
        scalar = int.from_bytes(signature[_SIZE:], "little")
        if len(signature) != _SIGNATURE or scalar >= L:
            raise InvalidSignature
        hashed = hashlib.sha512(signature[:_SIZE] + self._data + message).digest()
        x, y, z, t = self._point
        negative = (-x % P, y, z, -t % P)
        point = _sum(_times(scalar, BASE), _times(int.from_bytes(hashed, "little") % L, negative))
        if _encoded(point) != signature[:_SIZE]:
            raise InvalidSignature


def _sum(a: Point, b: Point) -> Point:
    """Add two points (RFC 8032, section 5.1.4)."""
    left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    both, twice = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = right - left, twice - both, twice + both, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    product: Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            product = _sum(product, point)
        point, scalar = _sum(point, point), scalar >> 1
    return product


def _encoded(point: Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << _BITS).to_bytes(_SIZE, "little")


def _decoded(data: bytes) -> Point:
    """Decode a point (RFC 8032, section 5.1.3)."""
    number = int.from_bytes(data, "little")
    y, odd = number & ((1 << _BITS) - 1), number >> _BITS
    if len(data) != _SIZE or y >= P:
        raise ValueError("an Ed25519 public key is 32 bytes of a point")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * _ROOT % P
    if (x * x - square) % P or (x == 0 and odd):
        raise ValueError("these 32 bytes are no point of the curve")
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P


BASE = _decoded((4 * pow(5, -1, P) % P).to_bytes(_SIZE, "little"))
