"""Tests of the audit against an operator who holds all keys: no lie passes in silence."""

import pytest

from vault.ledger.audit.report import AuditReport
from vault.ledger.audit.verify import audit

from .lies import DECEMBER, LIES, WITNESSED

pytestmark = pytest.mark.slow


def shown(report: AuditReport) -> dict[str | None, str]:
    """Give what a report shows beneath the step that failed, or else beneath each doubt, by the rule."""
    told = [report.failed] if report.failed else report.doubts
    texts: dict[str | None, str] = {}
    for item in told:
        texts[item.rule] = texts.get(item.rule, "") + "\n".join(item.evidence.lines() if item.evidence else ())
    return texts


@pytest.mark.parametrize("name", LIES)
def test_no_lie_of_an_operator_with_all_keys_is_believed(month, name):
    lie = LIES[name]
    report = audit(lie.play(month), month.keys, policy=lie.policy)
    assert not report.ok
    assert report.answer == ("yes with doubts" if lie.rule.startswith("doubt.") else "no")
    assert lie.words in shown(report).get(lie.rule, f"nothing of {lie.rule}: {shown(report)}")


def test_an_honest_month_that_a_witness_saw_is_believed(month):
    month.clock = iter(range(DECEMBER, DECEMBER + 86_400, 600))
    assert audit(month.play().retire(), month.keys, policy=WITNESSED).answer == "yes"


def test_honest_months_are_believed_with_the_doubts_that_withdrawals_raise(month):
    chosen = month.play_turns().retirement["spot_check"]["chosen"]
    assert chosen == 1, "so that each count of the spot check can be told falsely"
    month.retire()
    answers = {
        folder.name: (report.answer, [doubt.rule for doubt in report.doubts], report.failed)
        for folder in sorted(month.folder.glob("Historical-*"))
        for report in [audit(folder, month.keys)]
    }
    doubts = ["doubt.share", *["doubt.withdrawn"] * 3]
    assert answers == {
        "Historical-2026-12": ("yes", [], None),
        "Historical-2027-01": ("yes", [], None),
        "Historical-2027-02": ("yes with doubts", doubts, None),
    }
