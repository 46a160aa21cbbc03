"""Pure-Python Ed25519 verification (RFC 8032, section 5.1.7), only for the audit as a single file.

It verifies public data only, so it need be neither fast nor constant-time. Like OpenSSL it compares
`[S]B - [k]A` with the bytes of R, without a cofactor; it refuses an S that is not below the group's order, and a public
key that is not the one encoding of its point. Which other keys are refused is the rule of `strict_ed25519.py`.
ML-DSA-44 has no verifier here: where the package `cryptography` is installed, it is asked for that alone.
"""

from __future__ import annotations

from hashlib import sha512

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except ImportError:
    MLDSA44PublicKey = None  # type: ignore[assignment,misc]

HAS_MLDSA44 = MLDSA44PublicKey is not None
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
_ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1

Point = tuple[int, int, int, int]  # extended coordinates X, Y, Z, T: x = X/Z, y = Y/Z, xy = T/Z


def ed25519_holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether a signature (64 bytes) is a public key's (32 bytes) over a message."""
    point, scalar = _decoded(public), int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or scalar >= L:  # noqa: PLR2004 - bytes, as RFC 8032 counts them
        return False
    hashed = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little")
    x, y, z, t = point
    negative = (-x % P, y, z, -t % P)
    return _encoded(_sum(_times(scalar, BASE), _times(hashed % L, negative))) == signature[:32]


def mldsa44_holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether an ML-DSA-44 signature (FIPS 204) is a public key's over a message."""
    try:
        MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


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
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decoded(data: bytes) -> Point | None:
    """Decode a point (RFC 8032, section 5.1.3); None if these bytes are none."""
    odd, y = divmod(int.from_bytes(data, "little"), 1 << 255)
    if len(data) != 32 or y >= P:  # noqa: PLR2004
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * _ROOT % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P


BASE: Point = (_decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little"))) or (0, 1, 1, 0)
