"""Tests of commitments: hiding, binding, and checkable with other tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.commitment import LABELS, SALT_SIZE, commitment, new_salt, opens
from vault.errors import Malformed

SALT = bytes(range(32))


def test_openssl_made_the_same_commitment():
    # { printf 'quarterturn/commit/v1\n'; printf '{"a":1}'; } | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707...07
    expected = "9f23accef9652de2576fd39ae9247bbd95fc0c13e46d6596e06964d8e72d28de"
    assert commitment("commit", b'{"a":1}', b"\x07" * 32).hex() == expected


@given(st.binary(max_size=64), st.binary(max_size=64), st.binary(min_size=32, max_size=32))
def test_only_the_payload_that_was_committed_to_opens_it(payload, other, salt):
    made = commitment("result", payload, salt)
    assert opens("result", payload, salt, made)
    assert opens("result", other, salt, made) == (other == payload)


def test_no_label_opens_another_ones_commitment():
    made = {commitment(label, b"x", SALT) for label in LABELS}
    assert len(made) == len(LABELS)


@pytest.mark.parametrize("salt", [b"", SALT[:31], SALT + b"\0", SALT.ljust(64, b"\0")], ids=len)
def test_a_salt_of_another_length_neither_makes_nor_opens_a_commitment(salt):
    with pytest.raises(Malformed, match=f"{SALT_SIZE} bytes, this one {len(salt)}"):
        commitment("commit", b"x", salt)
    # HMAC pads a short key with zeros: without the check, the padded salt would open it.
    assert not opens("commit", b"x", salt, commitment("commit", b"x", salt[:32].ljust(32, b"\0")))


def test_a_cut_commitment_is_not_opened():
    made = commitment("commit", b"x", SALT)
    assert not opens("commit", b"x", SALT, made[:16])
    assert not opens("commit", b"x", SALT, b"")


def test_an_unknown_label_is_refused():
    with pytest.raises(Malformed, match="'comit'"):
        commitment("comit", b"x", SALT)


def test_salts_come_from_the_entropy_that_is_given():
    assert new_salt(lambda size: b"\x01" * size) == b"\x01" * SALT_SIZE
    assert new_salt() != new_salt()
