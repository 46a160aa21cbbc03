"""Tests of what counts as a pass: a true verdict, within the budget, and without a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.results.outcome import TaskRun
from sandbox.transcript import Transcript
from verifiers.language.verdict import Evidence, Verdict

DONE = TaskRun(
    "t-1", "composition", 8, Verdict.TRUE, Evidence("leaf", Verdict.TRUE), Transcript((), "done", "answered")
)


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": Verdict.FALSE},
        {"verdict": Verdict.UNKNOWN},
        {"failure": "ours"},
        {"failure": "unclear"},
        {"transcript": Transcript((), "done", "steps-exceeded")},
        {"transcript": Transcript((), "done", "time-exceeded")},
    ],
    ids=str,
)
def test_one_of_them_is_enough_not_to_pass(changed):
    assert DONE.passed
    assert not replace(DONE, **changed).passed
