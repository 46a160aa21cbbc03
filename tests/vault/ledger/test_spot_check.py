"""Tests of the spot check in an audit: the sample follows from seed and root, and is counted so."""

import hmac
from itertools import product

import pytest

from vault.ledger.audit.verify import audit
from vault.ledger.statements.spot_check import is_chosen

SEED, ROOT = bytes(range(32)), bytes(reversed(range(32)))


def test_the_rule_is_that_of_the_page():
    for run, number in product(range(1, 41), range(50)):
        task = f"t-{number:016d}"
        said = hmac.digest(SEED, b"quarterturn/spot-check/v1\n" + ROOT + f"\n{run}/{task}".encode(), "sha256")
        assert is_chosen(SEED, ROOT, run, task) == (int.from_bytes(said[:8], "big") < 2**64 / 20)


@pytest.mark.parametrize(
    ("other", "answer", "words"),
    [
        ({}, "yes", "1 of the month's 8 results; the operator says that 1 were judged again, and that 0 came out"),
        ({"judged": 0}, "yes", "0 were judged again and 1 could not be"),
        ({"differed": 1}, "yes with doubts", "that 1 came out otherwise"),
    ],
)
def test_what_was_judged_again_is_reported_and_fails_no_audit(month, other, answer, words):
    month.play_checked().check(**other)
    report = audit(month.retire(), month.keys)
    (step,) = (step for step in report.steps if step.name == "spot check")
    assert (report.answer, step.state) == (answer, "proved")
    assert words in step.proved
    assert "the operator's own machine says" in "".join(report.caveats)
