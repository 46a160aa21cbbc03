"""Tests of Ed25519 verification without a package: it agrees with the library."""

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature as LibrarySays
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as Library

from vault.ledger.signatures.ed25519 import L, P, _decoded, ed25519_holds

from ..builders import flips

KEYS = [Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"test-%d" % n).digest()) for n in range(8)]


# RFC 8032, section 7.1: public key, message, signature
def ours(public: bytes, signature: bytes, message: bytes) -> bool:
    return ed25519_holds(public, signature, message)


def theirs(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Library.from_public_bytes(public).verify(signature, message)
    except LibrarySays:
        return False
    return True


@pytest.mark.parametrize("key", KEYS)
def test_good_and_changed_signatures_are_told_apart_as_the_library_does(key):
    public, message = key.public_key().public_bytes_raw(), public_message(key)
    signature = key.sign(message)
    assert ours(public, signature, message)
    for bad in flips(signature, 37):
        assert ours(public, bad, message) == theirs(public, bad, message) is False
    for other in (message + b"\0", message[1:], b""):
        assert ours(public, signature, other) == theirs(public, signature, other) is False
    assert not ours(KEYS[KEYS.index(key) - 1].public_key().public_bytes_raw(), signature, message)


def public_message(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw() * 3


def test_a_scalar_beyond_the_order_is_refused_though_it_fits_the_equation():
    public, message = KEYS[0].public_key().public_bytes_raw(), b"message"
    signature = KEYS[0].sign(message)
    scalar = int.from_bytes(signature[32:], "little") + L
    again = signature[:32] + scalar.to_bytes(32, "little")
    assert not ours(public, again, message)
    assert not theirs(public, again, message)


@pytest.mark.parametrize("length", [0, 32, 63, 65])
def test_a_signature_has_64_bytes(length):
    signature = (KEYS[0].sign(b"m") + b"\0")[:length]
    assert not ours(KEYS[0].public_key().public_bytes_raw(), signature, b"m")


@pytest.mark.parametrize(
    "public",
    [
        bytes(31),
        bytes(33),
        (P + 1).to_bytes(32, "little"),  # y = 1, encoded a second way
        (1 | 1 << 255).to_bytes(32, "little"),  # x = 0 has no sign
        (2).to_bytes(32, "little"),  # no point
    ],
)
def test_bytes_that_are_no_point_are_no_key(public):
    assert _decoded(public) is None
    assert not ours(public, KEYS[0].sign(b"m"), b"m")
