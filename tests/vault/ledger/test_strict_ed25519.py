"""Tests of strict Ed25519: one rule with the package and without, and both refuse what the package alone accepts."""

import hashlib
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from quarterturn.settings import public_key
from vault.errors import Broken, Malformed
from vault.ledger.signatures import ed25519, sshsig, strict_ed25519
from vault.ledger.signatures.cosignature import COSIGNER_ED25519 as COSIGNER
from vault.ledger.signatures.cosignature import Witness
from vault.ledger.signatures.note import LOG_ED25519 as LOG
from vault.ledger.signatures.note import Verifier
from vault.ledger.signatures.strict_ed25519 import key_fault, verifies

from ..builders import edwards
from ..weak_points import AGAIN, SECOND, SMALL, encoded, forged, vkeys, weak

FILE = Path(__file__).resolve().parents[3] / "docs" / "audit.py"
WEAK = list(weak())


@pytest.fixture(params=["package", "none"])
def verify(request, monkeypatch):
    """Return the strict verification over the package, and over what stands in for it."""
    if request.param == "none":
        monkeypatch.setattr(strict_ed25519, "ed25519_holds", ed25519.ed25519_holds)
    return verifies


def test_an_honest_signature_verifies_and_no_changed_one(verify):
    for seed in range(20):
        key = edwards(seed)
        public, signature = key.public_key().public_bytes_raw(), key.sign(b"message")
        assert verify(public, signature, b"message")
        assert not verify(public, signature, b"massage")
        assert not verify(public, signature[:-1], b"message")
        assert not verify(public[:-1], signature, b"message")
        assert not verify(edwards(seed + 1).public_key().public_bytes_raw(), signature, b"message")


@pytest.mark.parametrize(("public", "signature", "message"), WEAK)
def test_what_fits_the_equation_and_proves_nothing_is_refused(verify, public, signature, message):
    Ed25519PublicKey.from_public_bytes(public).verify(signature, message)  # so the package alone would accept it
    assert not verify(public, signature, message)


def test_bytes_that_are_no_point_verify_nothing(verify):
    signature = edwards(0).sign(b"message")
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(encoded(2)).verify(signature, b"message")
    assert not verify(encoded(2), signature, b"message")


def test_the_points_of_small_order_are_all_that_there_are():
    torsion = set()
    for number in range(2, 200):
        point = ed25519._decoded(hashlib.sha256(b"%d" % number).digest()[:31] + b"\0")
        if point is not None:
            torsion.add(ed25519._encoded(ed25519._times(ed25519.L, point)))
    assert torsion == {encoded(number) for number in SMALL}
    assert {key_fault(point) for point in torsion} == {key_fault(encoded(0))}
    assert "small order" in key_fault(encoded(0))


def test_a_second_encoding_is_named_as_that():
    assert {key_fault(encoded(number)) for number in SECOND} == {key_fault(encoded(ed25519.P))}
    assert "RFC 8032, section 5.1.3" in key_fault(encoded(ed25519.P))
    assert all(key_fault(encoded(number)) for number in AGAIN)
    assert key_fault(edwards(0).public_key().public_bytes_raw()) is None


@pytest.mark.parametrize(("parse", "kind"), [(Verifier.parse, LOG), (Witness.parse, COSIGNER)])
def test_such_a_key_is_refused_where_it_is_named(parse, kind):
    for vkey in vkeys("bench.example/log", kind):
        with pytest.raises(Malformed, match=r"bench\.example/log .*(small order|5\.1\.3)"):
            parse(vkey)


def test_such_a_key_is_no_maintainers_and_signs_no_file():
    for number in (*SMALL, *AGAIN, *SECOND):
        with pytest.raises(ValueError, match=r"small order|5\.1\.3"):
            public_key(sshsig.public_line(encoded(number)))
    armored = sshsig.sign(b"file", "space", edwards(0))
    weak_key = encoded(1)
    blob = sshsig._take_apart(armored)
    blob[0] = sshsig._public(weak_key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sshsig, "signed_data", lambda *_: forged(weak_key)[0])
        blob[4] = sshsig._string(sshsig.KIND) + sshsig._string(forged(weak_key)[1])
        patch.setattr(sshsig, "_take_apart", lambda _: blob)
        with pytest.raises(Broken, match="does not verify"):
            sshsig.verify(b"file", "space", armored, weak_key)
