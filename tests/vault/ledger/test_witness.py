"""Tests of a witness: it signs one history of a log, answers as tlog-witness says, and wins every race."""

import base64
import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from vault.errors import Broken, Malformed, Unavailable
from vault.file_lock import locked
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner, time_of
from vault.ledger.signatures.note import Signer, open_note
from vault.ledger.tree.merkle import MerkleTree, consistency_proof, leaf_hash
from vault.ledger.write.witness import MAX_BODY, SIZE, LocalWitness, WitnessReply

from ..builders import ORIGIN, edwards, signer

NOW = 1_700_000_000
LOG, THIEF = signer(), signer(1)
KEYS = [Cosigner("witness.example/w", key) for key in (edwards(2), MLDSA44PrivateKey.from_seed_bytes(b"\3" * 32))]
TREE = MerkleTree([leaf_hash(b"leaf %d" % n) for n in range(600)])
OTHER = MerkleTree([leaf_hash(b"leaf %d" % (n if n < 2 else -n)) for n in range(600)])


def head(size: int, tree: MerkleTree = TREE) -> Checkpoint:
    return Checkpoint(ORIGIN, size, tree.root(size))


def asked(
    old: int | str, size: int, *, tree: MerkleTree = TREE, by: Signer = LOG, proof: list[bytes] | None = None
) -> bytes:
    if proof is None:
        proof = consistency_proof(tree.node, int(old), size) if int(old) else []
    lines = [f"old {old}", *(base64.b64encode(one).decode() for one in proof)]
    return "\n".join([*lines, "", head(size, tree).sign(by)]).encode()


@pytest.fixture
def new_witness(tmp_path: Path) -> Callable[..., LocalWitness]:
    return lambda: LocalWitness(tmp_path / "state", [LOG.verifier], KEYS, lambda: NOW)


@pytest.fixture
def witness(new_witness: Callable[..., LocalWitness]) -> LocalWitness:
    return new_witness()


def test_a_log_that_grows_is_cosigned_with_every_key(witness):
    old = 0
    for size in (3, 7, 7, 256, 300, 600):
        reply = witness.add_checkpoint(asked(old, size))
        assert reply.status == 200, reply.body
        note = head(size).sign(LOG) + reply.body.decode()
        keys = [one.witness for one in KEYS]
        verified = open_note(note, [LOG.verifier, *keys]).verified
        assert tuple(verified) == (LOG.verifier.vkey, *(key.vkey for key in keys))
        assert {time_of(verified[key.vkey]) for key in keys} == {NOW}
        old = size


def test_a_cosigned_head_is_on_disk_and_outlives_a_restart(new_witness, tmp_path):
    stranger = "\u2014 elsewhere.example AAAAAAAA\n"
    reply = new_witness().add_checkpoint(asked(0, 5) + stranger.encode())
    kept = tmp_path / "state" / hashlib.sha256(ORIGIN.encode()).hexdigest()
    assert kept.read_text() == head(5).sign(LOG) + reply.body.decode()
    assert new_witness().last(ORIGIN) == head(5)
    assert new_witness().add_checkpoint(asked(0, 5)) == WitnessReply(409, SIZE, b"5\n")
    assert new_witness().add_checkpoint(asked(5, 6)).status == 200


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (asked(3, 7), 200, "\u2014 witness.example/w "),
        (asked(3, 3), 200, "\u2014 witness.example/w "),
        (asked("03", 7), 400, "begins with the line"),
        (b"", 400, "begins with the line"),
        (asked(3, 7).replace(b"\n\n", b"\n", 1), 400, "begins|base64"),
        (asked(3, 7).replace(b"old 3", b"old 3 "), 400, "begins with the line"),
        (asked(3, 7).replace(b"\n", b"\r\n", 1), 400, "begins with the line"),
        (asked(3, 7, proof=[bytes(31)]), 400, "32 bytes"),
        (asked(3, 7, proof=[bytes(32)] * 64), 400, "at most 63"),
        (asked(3, 7, proof=[bytes(32)] * 63), 422, "."),
        (asked(3, 7).replace(b"=\n", b"\n", 1), 400, "base64"),
        (asked(3, 7) + b"\xff", 400, "UTF-8"),
        (asked(3, 7) + b" " * MAX_BODY, 400, "at most"),
        (asked(3, 7).replace(b"\n7\n", b"\n07\n"), 400, "leading zeros"),
        (asked(3, 7).replace(ORIGIN.encode(), b"another.example"), 404, "knows no log another.example"),
        (asked(3, 7, by=THIEF), 403, "no given key signed"),
        (asked(3, 7).replace(b"\n7\n", b"\n8\n"), 403, "does not verify"),
        (asked(8, 7, proof=[]), 400, "beyond the checkpoint's"),
        (asked(8, 7, proof=[], by=THIEF), 403, "no given key signed"),
        (asked(2, 7), 409, "3\n"),
        (asked(0, 7), 409, "3\n"),
        (asked(5, 7, proof=[]), 409, "3\n"),
        (asked(3, 7, proof=[]), 422, "consistency proof"),
        (asked(3, 3, proof=[bytes(32)]), 422, "is empty"),
        (asked(3, 7, tree=OTHER), 422, "."),
        (asked(3, 3, tree=OTHER), 409, "size 3 was cosigned with the root"),
    ],
)
def test_every_answer(witness, body, status, says):
    assert witness.add_checkpoint(asked(0, 3)).status == 200
    reply = witness.add_checkpoint(body)
    assert reply.status == status, reply.body
    assert re.search(says, reply.body.decode())
    assert (reply.content_type == SIZE) == (reply.body == b"3\n")
    assert witness.last(ORIGIN).size == (7 if body == asked(3, 7) else 3)


def test_from_nothing_a_proof_is_empty(witness):
    assert witness.add_checkpoint(asked(0, 3, proof=[bytes(32)])).status == 422
    assert witness.add_checkpoint(asked(0, 0)).status == 200
    assert witness.add_checkpoint(asked(0, 3)).status == 200


def test_a_log_may_have_two_keys_and_the_key_of_another_log_is_unknown(tmp_path):
    other = Signer("other.example/log", THIEF.key)
    witness = LocalWitness(tmp_path, [LOG.verifier, THIEF.verifier, other.verifier], KEYS[:1], lambda: NOW)
    assert witness.add_checkpoint(asked(0, 3, by=THIEF)).status == 200
    assert witness.add_checkpoint(asked(3, 4)).status == 200
    of_other = asked(4, 5).replace(ORIGIN.encode(), other.name.encode())
    assert witness.add_checkpoint(of_other).status == 403
    assert witness.last(other.name).size == 0


def test_no_byte_can_change_and_another_tree_be_signed(tmp_path):
    witness = LocalWitness(tmp_path, [LOG.verifier], KEYS[:1], lambda: NOW)
    witness.add_checkpoint(asked(0, 3))
    good = asked(3, 7)
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 1
        assert witness.add_checkpoint(bytes(bad)).status in {400, 403, 404, 409, 422}, place
    assert witness.last(ORIGIN) == head(3)


def test_a_state_that_was_damaged_signs_nothing(witness, tmp_path):
    witness.add_checkpoint(asked(0, 3))
    kept = next(path for path in (tmp_path / "state").iterdir() if not path.suffix)
    kept.write_bytes(kept.read_bytes().replace(b"\n3\n", b"\n2\n"))
    with pytest.raises(Broken):
        witness.add_checkpoint(asked(2, 7))


def test_threads_that_race_get_one_cosignature_a_size(witness):
    witness.add_checkpoint(asked(0, 3))
    bodies = [asked(3, size) for size in range(4, 40)] * 2
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(witness.add_checkpoint, bodies))
    assert sorted({reply.status for reply in replies}) == [200, 409]
    assert [reply.status for reply in replies].count(200) == 1
    won = replies.index(next(reply for reply in replies if reply.status == 200))
    assert witness.last(ORIGIN).size == range(4, 40)[won % 36]


def test_a_witness_signs_nothing_while_another_holds_its_state(tmp_path):
    witness = LocalWitness(tmp_path, [LOG.verifier], KEYS[:1], lambda: NOW, patience=0.05)
    lock = tmp_path / f"{hashlib.sha256(ORIGIN.encode()).hexdigest()}.lock"
    with locked(lock, 0, "a test"), pytest.raises(Unavailable, match="this process itself holds"):
        witness.add_checkpoint(asked(0, 3))
    assert witness.last(ORIGIN).size == 0


@pytest.mark.parametrize(("logs", "keys"), [([], KEYS), ([LOG.verifier], [])])
def test_a_witness_has_a_key_and_a_log(tmp_path, logs, keys):
    with pytest.raises(Malformed, match="name both"):
        LocalWitness(tmp_path, logs, keys, lambda: NOW)
