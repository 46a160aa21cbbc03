"""Tests of cosignatures: the format's bytes, and no bit of them can change."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from vault.errors import Broken, Malformed, VaultError
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner, Witness, parse_key, time_of
from vault.ledger.signatures.note import open_note, read_line, read_vkey

from ..builders import cosigned_at, edwards, flips, signer
from ..weak_points import write_vkey

NOW = 1_679_315_147
HEAD = Checkpoint("bench.example/log", 42, hashlib.sha256(b"root").digest())
LOG = signer(3)
EDWARDS = Cosigner("witness.example/w1", edwards())
LATTICE = Cosigner("witness.example/w2", MLDSA44PrivateKey.from_seed_bytes(bytes(32)))
BOTH = pytest.mark.parametrize("cosigner", [EDWARDS, LATTICE], ids=["ed25519", "ml-dsa-44"])


def cosigned(cosigner: Cosigner, head: Checkpoint = HEAD) -> str:
    return head.sign(LOG) + cosigner.cosign(head, NOW)


@BOTH
def test_a_cosigned_checkpoint_opens_with_both_keys_and_tells_the_time(cosigner):
    note, witness = cosigned(cosigner), cosigner.witness
    opened = open_note(note, [LOG.verifier, witness])
    assert tuple(opened.verified) == (LOG.verifier.vkey, witness.vkey)
    assert time_of(opened.verified[witness.vkey]) == NOW
    assert open_note(note, [LOG.verifier]).ignored == (cosigner.name,)


def test_an_ed25519_witness_signs_a_header_the_time_and_the_whole_text():
    head = Checkpoint(HEAD.origin, HEAD.size, HEAD.root, extensions=("more",))
    name, identity, signed = read_line(EDWARDS.cosign(head, NOW).removesuffix("\n"))
    public = EDWARDS.key.public_key().public_bytes_raw()
    assert (name, identity) == (EDWARDS.name, hashlib.sha256(EDWARDS.name.encode() + b"\n\x04" + public).digest()[:4])
    assert signed[:8] == NOW.to_bytes(8, "big")
    EDWARDS.key.public_key().verify(signed[8:], b"cosignature/v1\ntime 1679315147\n" + head.format().encode())


def test_an_ml_dsa_witness_signs_its_name_the_time_and_the_tree():
    name, identity, signed = read_line(LATTICE.cosign(HEAD, NOW).removesuffix("\n"))
    public = LATTICE.key.public_key().public_bytes_raw()
    assert (name, identity) == (LATTICE.name, hashlib.sha256(LATTICE.name.encode() + b"\n\x06" + public).digest()[:4])
    message = b"subtree/v1\n\0\x12witness.example/w2" + NOW.to_bytes(8, "big") + b"\x11bench.example/log"
    message += bytes(8) + (42).to_bytes(8, "big") + HEAD.root
    LATTICE.key.public_key().verify(signed[8:], message)


@BOTH
def test_every_flipped_bit_of_a_cosignature_is_noticed(cosigner):
    name, identity, signed = read_line(cosigner.cosign(HEAD, NOW).removesuffix("\n"))
    text = HEAD.format().encode()
    assert cosigner.witness.accepts(text, signed)
    for place, bad in enumerate(flips(signed, 1 if len(signed) < 100 else 41)):
        assert not cosigner.witness.accepts(text, bad), place
    for length in (0, 7, 8, len(signed) - 1):
        assert not cosigner.witness.accepts(text, signed[:length])
    assert not cosigner.witness.accepts(text, signed + b"\0")
    assert not Witness("another.example", cosigner.witness.public, cosigner.witness.kind).accepts(b"no head\n", signed)
    assert (name, identity) == (cosigner.name, cosigner.witness.key_id)


def test_a_cosignature_over_another_head_fails_the_whole_note():
    other = Checkpoint(HEAD.origin, 43, HEAD.root)
    with pytest.raises(Broken, match="does not verify"):
        open_note(other.sign(LOG) + EDWARDS.cosign(HEAD, NOW), [LOG.verifier, EDWARDS.witness])


@BOTH
def test_a_witness_key_comes_back_from_its_text(cosigner):
    assert Witness.parse(cosigner.witness.vkey) == cosigner.witness
    assert parse_key(cosigner.witness.vkey) == cosigner.witness
    assert parse_key(LOG.verifier.vkey) == LOG.verifier


@pytest.mark.parametrize(
    ("vkey", "says"),
    [
        (LOG.verifier.vkey, "not of type"),
        (write_vkey("w", b"\x04", bytes(31)), "31 bytes"),
        (write_vkey("w", b"\x06", bytes(32)), "has 1312"),
        (write_vkey("w", b"\x05", bytes(32)), "not of type"),
        (EDWARDS.witness.vkey.replace("w1", "w3"), "says id"),
        (write_vkey("a b", b"\x04", bytes(32)), "spaces"),
        (EDWARDS.witness.vkey[:-1], "base64"),
        ("", "NAME"),
    ],
)
def test_witness_keys_that_are_none(vkey, says):
    with pytest.raises(Malformed, match=says):
        Witness.parse(vkey)


@pytest.mark.parametrize("seconds", [-1, 0, 2**63])
def test_a_time_beyond_all_times_is_not_signed(seconds):
    with pytest.raises(VaultError, match="seconds after 1970 began"):
        EDWARDS.cosign(HEAD, seconds)


@BOTH
def test_a_cosignature_of_the_time_0_is_refused_though_it_verifies(cosigner):
    for seconds, refused in ((1, False), (0, True)):
        note = HEAD.sign(LOG) + cosigned_at(cosigner, HEAD, seconds)
        if not refused:
            assert cosigner.witness.vkey in open_note(note, [LOG.verifier, cosigner.witness]).verified
            continue
        with pytest.raises(Broken, match="has the time 0") as caught:
            open_note(note, [LOG.verifier, cosigner.witness])
        assert caught.value.evidence.found == 0
        assert open_note(note, [LOG.verifier]).ignored == (cosigner.name,), "whom nobody named proves nothing anyway"


@BOTH
def test_a_time_without_a_signature_is_no_signature(cosigner):
    *_, signed = read_line(cosigned_at(cosigner, HEAD, 0).removesuffix("\n"))
    assert not cosigner.witness.accepts(HEAD.format().encode(), signed[:-1] + bytes([signed[-1] ^ 1]))


def test_no_private_key_is_in_a_repr():
    assert "key" not in repr(EDWARDS).lower().replace("vkey", "")
    assert base64.b64decode(EDWARDS.witness.vkey.rpartition("+")[2])[:1] == b"\x04"
    assert read_vkey(LATTICE.witness.vkey)[1] == b"\x06"
