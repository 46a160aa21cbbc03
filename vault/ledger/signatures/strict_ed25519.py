"""Strict Ed25519 verification: one rule for the package `cryptography`, for what stands in for it, and for browsers.

Libraries differ in which keys they take, so the rule is checked here before any of them is asked. The public key, and R
in the first half of a signature, must each be

1. 32 bytes whose y is below p = 2^255 - 19, and that encode no x = 0 with a sign (RFC 8032, section 5.1.3). OpenSSL
   reduces y modulo p instead, and so gives one key two texts.
2. no point of small order, of which there are eight. RFC 8032 says nothing of them; Web Cryptography says that both are
   refused. Whoever likes can sign under such a key, and one signature fits many texts.

For the rest it is RFC 8032, section 5.1.7, without a cofactor. The script `note.js` of `vault.ledger.browser` has the
same rule.
"""

from __future__ import annotations

from vault.ledger.signatures.library import ed25519_holds

ED25519_BYTES = 32
_P = 2**255 - 19
_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER = {1, _P - 1, 0, _ORDER_8, _P - _ORDER_8}  # y of the points of order 1, 2, 4, 8 and 8


def key_fault(point: bytes) -> str | None:
    """Say why these bytes are refused as a public key, as the end of a sentence; None if they are not.

    Whether they are a point of the curve at all is found out where they verify something.
    """
    y = int.from_bytes(point, "little") & ((1 << 255) - 1)
    if len(point) != ED25519_BYTES:
        return f"has {len(point)} bytes; an Ed25519 public key has {ED25519_BYTES}"
    if y >= _P:
        return "is not the one encoding of its point (RFC 8032, section 5.1.3)"
    if y in _SMALL_ORDER:
        return "is a point of small order, under which everybody can sign"
    return None


def verifies(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether a signature (64 bytes) is a public key's (32 bytes) over a message."""
    strict = not (key_fault(public) or key_fault(signature[:ED25519_BYTES]))
    return strict and ed25519_holds(public, signature, message)
