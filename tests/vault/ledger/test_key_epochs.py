"""Tests of key epochs: the log's key changes once both keys sign, and each head counts under the key of its size."""

from datetime import UTC, datetime

import pytest

from vault.errors import Broken, Refused
from vault.ledger.audit.monitor import check_log
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements import leaf
from vault.ledger.tree.tiles import folder_reader
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.witness import LocalWitness

from ..builders import edwards, refused, signer

NOW = datetime(2026, 12, 20, tzinfo=UTC)
NEW, THIRD = signer(7), signer(8)


def statement(month, old=None, new=NEW, size=None):
    return leaf.key(old=old or month.signer, new=new, size=len(month.leaves) if size is None else size)


@pytest.fixture
def half(month):
    """Return a month up to the change of its key."""
    return month.play_half()


@pytest.fixture
def old(month):
    return month.signer


@pytest.fixture
def both(old):
    return [old.verifier.vkey, NEW.verifier.vkey]


# -- the honest change ------------------------------------------------------------------------------------------------


def test_a_log_that_both_keys_handed_over_is_proved_with_both_given(month, both):
    folder = month.play_across(NEW).retire()
    report = audit(folder, both)
    assert report.ok, report.failed
    assert f"leaf 13 hands the log over to {both[1]}" in report.steps[3].proved
    for kept in (month.folder / "log/checkpoints").iterdir():
        assert audit(folder, both[::-1], kept.read_text()).ok
    assert audit(folder, [THIRD.verifier.vkey, *both]).ok, "a key that the log never named is not used"
    assert month.writer.fsck() == []


def test_with_the_old_key_alone_the_answer_is_no_and_names_the_new_one(month, both):
    words = f"is signed by {both[1][: len('bench.example/log') + 9]}. A log that changed its key has several"
    refused(audit(month.play_across(NEW).retire(), both[:1]), "checkpoint", "no given key signed", words)


def test_with_the_new_key_alone_the_answer_is_no_and_names_the_old_one(month, both):
    refused(audit(month.play_across(NEW).retire(), both[1:]), "checkpoints", both[0], "give it too")


def test_a_log_may_be_handed_over_more_than_once(month, both):
    month.play_across(NEW).hand_over(THIRD)
    report = audit(month.retire(), [*both, THIRD.verifier.vkey])
    assert report.ok, report.failed
    third = f"is signed by {THIRD.verifier.vkey[: len('bench.example/log') + 9]}. A log that changed its key"
    refused(audit(month.folder / "Historical-2026-12", both), "checkpoint", third)


def test_a_monitor_follows_the_log_across_the_change(half, old):
    read, keys = folder_reader(half.folder / "log"), [old.verifier, NEW.verifier]
    kept = check_log(read, keys[:1], None, NOW).seen
    half.hand_over(NEW)
    assert check_log(read, keys, kept, NOW).news == [
        f"the log was handed over at leaf 13 to {NEW.verifier.vkey}, as both keys say"
    ]
    with pytest.raises(Broken, match="hands the log over from"):
        check_log(read, keys[:1], kept, NOW)


def test_witnesses_that_know_both_keys_cosign_across_the_change(half, old, tmp_path):
    one = Cosigner("w.example/one", edwards())
    witness = LocalWitness(tmp_path / "witness", [old.verifier, NEW.verifier], [one], lambda: 1)
    policy = Policy.parse(f"witness one {one.witness.vkey} http://127.0.0.1:1/\nquorum one\n")

    def witnesses():
        return Witnesses(half.writer, policy, lambda _url, body: witness.add_checkpoint(body))

    assert witnesses().require().size == 13
    half.hand_over(NEW)
    assert witnesses().head().size == 13
    assert witnesses().require().size == 14


# -- the writer -------------------------------------------------------------------------------------------------------


def test_the_old_key_signs_nothing_any_more(half, old):
    half.log("key", statement(half))
    with pytest.raises(Refused, match="it signed nothing"):
        half.publish()
    assert half.writer.size == 13
    half.sign_with(NEW)
    half.publish()
    half.log("more", half.leaves[0])
    half.sign_with(old)
    with pytest.raises(Refused, match="it signed nothing"):
        half.publish()
    assert half.writer.size == 14


def test_the_new_key_signs_nothing_before(half):
    half.log("more", half.leaves[0])
    half.sign_with(NEW)
    with pytest.raises(Refused, match="it signed nothing"):
        half.publish()
