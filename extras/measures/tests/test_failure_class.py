"""Tests of failure classes, on failures made by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from quarterturn_measures.measures.call_graph import graph_difference
from quarterturn_measures.measures.failure_class import TITLES, FailureDiagnosis, diagnose
from verifiers.language.verdict import Verdict

from .failures import FAILURES, FILES, LOOKED, Case, ok
from .more_failures import MORE_FAILURES


def diagnosed(case: Case) -> FailureDiagnosis | None:
    run = case.run()
    graph = graph_difference(run.transcript.calls, case.solutions, {}, run.goal)
    return diagnose(run, case.solutions, {}, graph)


def test_nine_in_ten_of_the_failures_get_the_class_that_a_reader_gives_them():
    wrong = Counter()
    for name, cases in FAILURES.items():
        assert len(cases) == 6
        for place, case in enumerate(cases):
            found = diagnosed(case)
            if found.primary != name:
                wrong[name, place, found.primary, tuple(found.evidence)] += 1
    assert set(FAILURES) == set(TITLES)
    assert len(wrong) <= 6, wrong


def test_so_do_nine_in_ten_of_failures_that_the_rules_were_not_made_with():
    found = {
        (name, place): diagnosed(case).primary
        for name, cases in MORE_FAILURES.items()
        for place, case in enumerate(cases)
    }
    assert set(MORE_FAILURES) == set(TITLES)
    assert len(found) == 22
    wrong = {case: primary for case, primary in found.items() if case[0] != primary}
    assert len(wrong) <= 2, wrong


def test_what_ended_early_is_partial_and_what_made_every_call_is_not():
    swapped = MORE_FAILURES["misunderstood_task"][0]
    assert diagnosed(swapped).primary == "misunderstood_task"
    broken_off = replace(swapped, calls=[swapped.calls[0], swapped.calls[1], swapped.calls[3]])
    assert "partial_task_completion" in diagnosed(broken_off).evidence


def test_every_class_says_what_decided():
    for name, cases in FAILURES.items():
        found = diagnosed(cases[0])
        assert found.evidence[found.primary], name
    outside = diagnosed(FAILURES["environment_constraint_violation"][4])
    assert (
        outside.evidence[outside.primary] == "call 6 (filesystem.write_file) reached outside of what the task gives it"
    )


@pytest.mark.parametrize("change", [{"verdict": Verdict.UNKNOWN}, {"failure": "ours"}])
def test_what_is_no_definite_fail_of_the_agent_has_no_class(change):
    case = Case(FILES, LOOKED, ["result"])
    run = replace(case.run(), **change)
    assert diagnose(run, case.solutions, {}, None) is None


def test_a_pass_has_no_class():
    run = Case(FILES, [ok(call) for call in FILES.solutions[1]], []).run()
    assert run.passed
    assert diagnose(run, Case(FILES, [], []).solutions, {}, None) is None
