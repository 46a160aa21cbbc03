"""Tests of the log's guard: it takes what an audit takes, and forgets what was rolled back."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from vault.errors import Refused
from vault.ledger.statements import leaf
from vault.ledger.write.log_guard import LogGuard, Rows

from ..ledger.conftest import COHORTS, ORIGIN, SECOND, Month, second_signature


@pytest.fixture
def month(tmp_path: Path) -> Month:
    month = Month(tmp_path).play()
    month.retire()
    return month


def rows_of(leaves: Sequence[bytes]) -> Rows:
    return lambda start, end: list(leaves[start:end])


def taken(leaves: Sequence[bytes]) -> LogGuard:
    """Return a guard that was asked for each of these leaves before it was recorded."""
    guard = LogGuard(ORIGIN)
    for number, data in enumerate(leaves):
        guard.require(data, number, rows_of(leaves))
    return guard


def test_what_an_audit_takes_may_be_recorded_by_one_process_or_by_several(month):
    size = len(month.leaves)
    taken(month.leaves).settle(size, rows_of(month.leaves))
    LogGuard(ORIGIN).require(month.leaves[-1], size - 1, rows_of(month.leaves))


@pytest.mark.parametrize("settles", [True, False])
def test_a_leaf_that_was_rolled_back_is_forgotten(month, settles):
    opened, closed = month.index["open/1"], month.index["score/1"]
    guard = taken(month.leaves[: opened + 1])
    other = leaf.commit("t-" + "a" * 16, bytes(32), spec="1.0.0", provenance=bytes(32), public_grammar=True)
    recorded = [*month.leaves[:opened], other]
    if settles:
        guard.settle(len(recorded), rows_of(recorded))
    with pytest.raises(Refused, match="a run that is closed was opened before") as caught:
        guard.require(month.leaves[closed], len(recorded), rows_of(recorded))
    assert caught.value.rule == "close.run"


def test_nothing_is_opened_or_withdrawn_between_a_retirement_and_the_next_set(month):
    head = month.writer.checkpoint()
    facts = {"month": "2026-12", "track": "docker", "set_root": month.set_root, "cohorts": COHORTS[1:]}
    late = leaf.run_open(run=9, commitment=bytes(32), size=head.size, root=head.root, **facts)
    gone = month.cohorts[COHORTS[1]][0]
    facts = {"month": "2026-12", "cause": "leak", "reason": "it leaked", "replacement": None}
    for data in (late, leaf.withdraw(gone, month.promised(gone), **facts)):
        with pytest.raises(Refused, match="before its retirement"):
            LogGuard(ORIGIN).require(data, len(month.leaves), rows_of(month.leaves))


def test_a_withdrawal_is_not_recorded_without_the_second_signature_that_its_set_asks_for(tmp_path):
    operator = Month(tmp_path, "two persons")
    operator.second = SECOND
    gone = operator.begin().cohorts[COHORTS[1]][0]
    facts = {"month": "2026-12", "cause": "leak", "reason": "it leaked", "replacement": None}
    unsigned = leaf.withdraw(gone, operator.promised(gone), **facts)
    guard, size, rows = taken(operator.leaves), len(operator.leaves), rows_of(operator.leaves)
    assert guard.withdrawal_keys(gone, size, rows) == [SECOND.verifier.vkey]
    with pytest.raises(Refused, match="a second key signs a withdrawal") as caught:
        guard.require(unsigned, size, rows)
    assert caught.value.rule == "withdraw.signature"
    signature = second_signature(SECOND, unsigned)
    guard.require(leaf.withdraw(gone, operator.promised(gone), **facts, signature=signature), size, rows)


def test_a_recorded_leaf_that_breaks_a_rule_is_named_as_such(month):
    spoilt = [*month.leaves[:2], month.leaves[0]]
    with pytest.raises(Refused, match="leaf 2 is recorded already, and every audit would refuse it"):
        LogGuard(ORIGIN).require(month.leaves[3], 3, rows_of(spoilt))
