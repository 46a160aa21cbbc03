"""Tests of failure classes, on failures made by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sandbox.measures.call_graph import graph_difference
from sandbox.measures.failure_class import TITLES, FailureDiagnosis, diagnose
from verifiers.language.verdict import Verdict

from .failures import FAILURES, FILES, LOOKED, Case, ok


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
