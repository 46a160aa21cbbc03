"""Tests of the spot check in an audit: the sample follows from seed and root, and is counted so."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from vault.ledger.audit.verify import audit
from vault.ledger.statements.spot_check import is_chosen

SEED, ROOT, TASK = bytes(range(32)), bytes(reversed(range(32))), "t-" + "a" * 16
BYTES = st.binary(min_size=32, max_size=32)


def test_one_result_in_twenty_is_chosen_in_the_mean():
    tasks = [f"t-{number:016d}" for number in range(200)]
    chosen = sum(is_chosen(SEED, ROOT, run, task) for run in range(1, 101) for task in tasks)
    assert 850 <= chosen <= 1150, "of 20,000; that is five standard deviations"


@given(BYTES, BYTES, st.integers(1, 10**9))
def test_the_rule_is_that_of_the_page(seed, root, run):
    said = hmac.digest(seed, b"quarterturn/spot-check/v1\n" + root + f"\n{run}/{TASK}".encode(), hashlib.sha256)
    assert is_chosen(seed, root, run, TASK) == (int.from_bytes(said[:8], "big") < 2**64 / 20)


def test_another_seed_root_run_or_task_chooses_others():
    rows = [(run, f"t-{number:016d}") for run in range(1, 41) for number in range(50)]
    one, other_seed, other_root = (
        {row for row in rows if is_chosen(seed, root, *row)}
        for seed, root in ((SEED, ROOT), (ROOT, ROOT), (SEED, SEED))
    )
    assert len({frozenset(one), frozenset(other_seed), frozenset(other_root)}) == 3
    for other in (other_seed, other_root):
        assert len(one & other) < len(one) / 3
    assert len({run for run, _ in one}) > 20
    assert len({task for _, task in one}) > 20


def checked(month, **other):
    month.play_checked().check(**other)
    return audit(month.retire(), month.keys)


def spot_check(report):
    return next(step for step in report.steps if step.name == "spot check")


def test_what_was_judged_again_is_reported(month):
    report = checked(month)
    assert (report.answer, spot_check(report).state) == ("yes", "proved")
    assert "chooses 1 of the month's 8 results" in spot_check(report).proved
    assert "1 were judged again, and that 0 came out otherwise" in spot_check(report).proved


def test_a_differing_verdict_is_a_doubt_and_fails_no_audit(month):
    report = checked(month, differed=1)
    assert (report.answer, [doubt.rule for doubt in report.doubts]) == ("yes with doubts", ["doubt.differed"])
    assert "that 1 came out otherwise" in spot_check(report).proved
    assert "the operator's own machine says" in "".join(report.caveats)


def test_what_could_not_be_judged_again_is_reported(month):
    assert "0 were judged again and 1 could not be" in spot_check(checked(month, judged=0)).proved
