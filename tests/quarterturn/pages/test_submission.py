"""Tests of a submission's page: it shows what the submission service gives, and no more."""

from __future__ import annotations

import re

import pytest

from quarterturn.pages import submission
from quarterturn.pages.drawing.figures import NAMES
from quarterturn.submissions.codes import CODES

QUOTAS = {
    name: {"limit": 5, "used": 2, "left": 3, "until": "2027-01-01T00:00:00+00:00" if name != "waiting" else None}
    for name in ("private", "dev", "check", "waiting")
}
PART = {name: {"value": 0.54, "low": 0.4, "high": 0.6, "n": 20} for name in NAMES} | {"attempted": 24}
ONE = {
    "id": "s-" + "a" * 16, "set": "private", "kind": "image", "model": None, "counts": False, "month": "2026-12",
    "state": "queued", "place": 3, "failure": None, "charged": True, "run": None, "figures": None,
    "created_at": "2026-12-05T10:00:00+00:00", "agent": "registry.example/<agent>:1",
}  # fmt: skip
CALL = {"tool": "filesystem.write_file", "arguments": {"path": "<b>"}, "error": False, "result": "=1+1"}
RUN = {
    "task_id": "t-" + "a" * 16, "verdict": "true", "code": "finished", "max_steps": 8, "attempts": 1,
    "transcript": {"calls": [CALL]},
}  # fmt: skip


def page(waits=None, trace=None, **more):
    return submission.page("ada", ONE | more, waits, QUOTAS, trace)


@pytest.mark.parametrize(
    ("waits", "says"),
    [
        ("next", "first in the queue"),
        ("before", "3 submissions before it"),
        ("own", "your party already has as many submissions running"),
    ],
)
def test_a_waiting_submission_says_why_and_can_be_cancelled(waits, says):
    shown = page(waits)
    assert says in shown
    assert f'<form method="post" action="/submission/{ONE["id"]}/cancel">' in shown
    assert "<button>Cancel</button>" in shown
    assert "2 of 5 are used" in shown


def test_a_running_submission_can_be_cancelled_and_an_ended_one_cannot():
    assert "It is running" in page(state="running", place=None)
    for state in ("done", "failed", "cancelled"):
        assert "/cancel" not in page(state=state, place=None)


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_hint_and_says_whether_it_costs_anything(code):
    failure = {"code": code, "hint": CODES[code].hint, "ours": CODES[code].ours}
    shown = page(state="failed", place=None, failure=failure, charged=not CODES[code].ours)
    assert CODES[code].hint in shown
    assert ("It does not count against a quota" in shown) is CODES[code].ours


def test_figures_are_drawn_as_they_were_disclosed():
    shown = page(state="done", place=None, run=7, figures={"whole": PART, "sealed": PART})
    assert shown.count("<circle") == 8
    assert "54.0" in shown
    assert "are shown once the tasks are published" in shown


def test_a_trace_is_shown_call_by_call_and_is_text():
    shown = page(state="done", place=None, trace={"tasks": [{"run": RUN}]})
    assert 'href="/tasks/t-aaaaaaaaaaaaaaaa"' in shown
    assert "&lt;b&gt;" in shown
    assert not re.search("<b>|<agent>", shown)
    grids = submission.grids(ONE, QUOTAS, {"tasks": [{"run": RUN}]})
    assert set(grids) == {"quotas", "tasks", "calls"}
    assert b"'=1+1" in grids["calls"].as_csv()


def test_the_list_is_empty_or_leads_to_each():
    assert "No submissions yet" in submission.overview("ada", [], QUOTAS)
    shown = submission.overview("ada", [ONE], QUOTAS, "?cursor=w", "?cursor=x")
    assert f'href="/submission/{ONE["id"]}"' in shown
    assert 'href="/mine?cursor=x"' in shown
    assert 'href="/mine/submissions.csv?cursor=w"' in shown
