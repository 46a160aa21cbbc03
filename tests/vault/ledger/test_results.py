"""Tests of results: totals and figures are exact, and the order of their tree hides nothing."""

import pytest

from vault.errors import Malformed
from vault.ledger.statements import results
from vault.ledger.statements.forms import require_form

from ..builders import RESULT_ROW


def test_totals_add_up_exactly():
    rows = [
        RESULT_ROW,
        RESULT_ROW | {"max_steps": 9, "saw_error": False},
        RESULT_ROW | {"passed": False, "verdict": "false"},
        RESULT_ROW | {"passed": False, "verdict": "unknown", "category": "composition"},
    ]
    totals = results.totals_of(1, "cohort-2026-12", rows)
    assert totals == {
        "run": 1, "cohort": "cohort-2026-12", "attempted": 4, "passed": 2, "unknown": 1, "efficiency_sum": "49/36",
        "calls": 28, "unlisted": 4, "recovery_seen": 2, "recovery_passed": 1,
    }  # fmt: skip
    require_form(results.TOTALS, totals, "$")
    assert results.figures(totals) == {
        "success_rate": "0.5000",
        "efficiency": "0.6806",
        "hallucinated_tool_rate": "0.1429",
        "recovery_rate": "0.5000",
    }


def test_a_figure_without_a_denominator_is_absent():
    totals = results.totals_of(1, "cohort-2026-12", [])
    assert totals["efficiency_sum"] == "0/1"
    assert set(results.figures(totals).values()) == {None}


def test_results_are_ordered_by_their_tasks_commitments():
    assert results.in_order([(b"b", b"1"), (b"a", b"2")]) == [b"2", b"1"]
    assert results.results_root([bytes(32)]) != results.results_root([bytes(32), bytes(32)])


@pytest.mark.parametrize("change", [{"passed": 1}, {"calls": -1}, {"calls": True}, {"verdict": "maybe"}, {"more": 1}])
def test_results_of_another_form(change):
    require_form(results.RESULT, RESULT_ROW, "$")
    with pytest.raises(Malformed):
        require_form(results.RESULT, RESULT_ROW | change, "$")
