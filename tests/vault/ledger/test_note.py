"""Tests of signed notes and checkpoints: others' notes are read, and no byte that counts can change."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Broken, Malformed, VaultError
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Signer, Verifier, open_note
from vault.ledger.tree.merkle import EMPTY_ROOT

from ..builders import flips
from ..builders import signer as signed_by

# The example of golang.org/x/mod/sumdb/note: a note that other code signed.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)


@pytest.fixture
def signer():
    return Signer("bench.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


@pytest.fixture
def witness():
    return signed_by(name="witness.example/w")


@pytest.fixture
def checkpoint():
    return Checkpoint("bench.example/log", 42, hashlib.sha256(b"root").digest())


def test_a_note_that_go_signed():
    note = open_note(GO_NOTE, [Verifier.parse(GO_KEY)])
    assert tuple(note.verified) == (GO_KEY,)
    assert note.text.endswith("problem is.\n")
    assert Verifier.parse(GO_KEY).vkey == GO_KEY


def test_a_checkpoint_comes_back(signer, checkpoint):
    note = checkpoint.sign(signer)
    found, opened = open_checkpoint(note.encode(), [signer.verifier])
    assert found == checkpoint
    assert opened.ignored == ()
    assert Checkpoint.parse(checkpoint.format()) == checkpoint


def test_every_flipped_bit_of_a_checkpoint_is_noticed(signer, checkpoint):
    for flipped in flips(checkpoint.sign(signer).encode()):
        with pytest.raises((Malformed, Broken)):
            open_checkpoint(flipped, [signer.verifier])


def test_every_truncation_of_a_checkpoint_is_noticed(signer, checkpoint):
    note = checkpoint.sign(signer)
    for end in range(len(note)):
        with pytest.raises((Malformed, Broken)):
            open_checkpoint(note[:end], [signer.verifier])


def line_of(note):
    return note.rpartition("\n\n")[2]


def test_signatures_by_unknown_keys_are_listed_and_prove_nothing(signer, witness, checkpoint):
    both = checkpoint.sign(signer) + line_of(witness.sign(checkpoint.format()))
    assert open_note(both, [signer.verifier]).ignored == ("witness.example/w",)
    assert len(open_note(both, [signer.verifier, witness.verifier]).verified) == 2
    with pytest.raises(Broken, match=r"no given key"):
        open_note(checkpoint.sign(signer), [witness.verifier])


def test_a_known_key_with_a_bad_signature_fails_the_whole_note(signer, witness, checkpoint):
    forged = line_of(witness.sign("something else\n"))
    both = checkpoint.sign(signer) + forged
    assert open_note(both, [signer.verifier])
    with pytest.raises(Broken, match=r"witness\.example"):
        open_note(both, [signer.verifier, witness.verifier])


def test_only_the_logs_own_name_signs_its_checkpoint(signer, witness, checkpoint):
    with pytest.raises(Broken, match="of that name"):
        open_checkpoint(witness.sign(checkpoint.format()), [witness.verifier])
    with pytest.raises(Malformed):
        checkpoint.sign(witness)


@pytest.mark.parametrize(
    "vkey",
    [
        "", "name", "name+00000000", GO_KEY.replace("c74f20a3", "c74f20a4"), GO_KEY.replace("PeterNeumann", "Peter"),
        GO_KEY.replace("+ARpc", "+AhpC"), GO_KEY + "A", GO_KEY[:-4], GO_KEY.replace("TW", "T="), GO_KEY.upper(),
        GO_KEY.replace("Peter", "Peter "), "\u2014",
    ],
)  # fmt: skip
def test_verifier_keys_that_are_none(vkey):
    with pytest.raises(Malformed):
        Verifier.parse(vkey)


@pytest.mark.parametrize(
    "text",
    [
        "o\n042\nROOT\n", "o\n-1\nROOT\n", "o\n+1\nROOT\n", "o\n1 \nROOT\n", "o\n\u0661\nROOT\n", "o\n\nROOT\n",
        "o\n9223372036854775808\nROOT\n", "o\n1\n", "o\n1\nROOT\n\n", "o\n1\nROOT", "o\n1\nAAAA\n", "\n1\nROOT\n",
        "o\n0\nROOT\n", "o\n1\nNOCANON\n", "o\n1\nRO OT\n",
    ],
)  # fmt: skip
def test_texts_that_are_no_checkpoint(text):
    root = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    text = text.replace("ROOT", root).replace("NOCANON", root[:-2] + chr(ord(root[-2]) + 1) + "=")
    with pytest.raises(Malformed):
        Checkpoint.parse(text)


def test_the_head_of_an_empty_log():
    empty = Checkpoint.empty("o")
    assert Checkpoint.parse(empty.format()) == empty
    assert empty.root == EMPTY_ROOT


@pytest.mark.parametrize(
    "note",
    [
        "", "\n", "text\n", "text\n\n", "text\n\n— name\n", "text\n\n- name AAAAAAAA\n", "text\n\n— na+me AAAAAAAA\n",
        "text\n\n— name AAAA\n", "text\n\n— name !!!!\n", "te\rxt\n\n— name AAAAAAAA\n", "text\n\n— name AAAAAAAB=\n",
        "text\n\n" + "— name AAAAAAAA\n" * 101, "x" * (1 << 20) + "\n\n— name AAAAAAAA\n", "\ud800\n\n— n AAAAAAAA\n",
    ],
)  # fmt: skip
def test_texts_that_are_no_note(note, signer):
    with pytest.raises(Malformed):
        open_note(note, [signer.verifier])


def test_the_private_key_is_in_no_repr(signer):
    assert "Ed25519" not in repr(signer)
    assert isinstance(Malformed("x"), VaultError)
