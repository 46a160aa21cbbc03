"""Tests of a submission's page: it shows what the submission service gives, and no more."""

import html
import json
import re
import shlex

import pytest

from quarterturn.failure_codes import CODES, charged
from quarterturn.pages import submission, submission_form
from quarterturn.pages.drawing.figures import NAMES
from quarterturn.pages.submission_form import PROBLEMS, Form

QUOTAS = {
    name: {"limit": 5, "used": 2, "left": 3, "until": "2027-01-01T00:00:00+00:00" if name != "waiting" else None}
    for name in ("private", "dev", "check", "waiting")
}
PART = {name: {"value": 0.54, "low": 0.4, "high": 0.6, "n": 20} for name in NAMES} | {"attempted": 24}
ONE = {
    "id": "s-" + "a" * 16, "set": "private", "kind": "image", "model": None, "counts": False, "month": "2026-12",
    "state": "queued", "place": 3, "failure": None, "charged": True, "run": None, "figures": None,
    "created_at": "2026-12-05T10:00:00+00:00", "started_at": None, "ended_at": None,
    "agent": "registry.example/<agent>:1", "score": None,
}  # fmt: skip
CALL = {
    "tool": "filesystem.write_file", "arguments": {"path": "<b>"}, "error": False, "injected": False, "result": "=1+1"
}  # fmt: skip
RUN = {
    "task_id": "t-" + "a" * 16, "verdict": "true", "passed": True, "code": "finished", "max_steps": 8, "attempts": 1,
    "transcript": {"calls": [CALL], "answer": None, "ended": "agent-exited"}, "category": "composition",
    "failure": None, "output": "<i>no key</i>", "exit_code": 3,
    "evidence": {"op": "filesystem.fileExists", "verdict": "true", "looked_at": {"path": "<u>"}, "found": "there"},
}  # fmt: skip


DUE = "2027-01-01T00:00:00+00:00"
ENDED = {"place": None, "started_at": "2026-12-05T11:00:00+00:00", "ended_at": "2026-12-05T12:34:56+00:00"}


def page(waits=None, trace=None, retry=None, **more):
    return submission.page("ada", ONE | more, waits, QUOTAS, trace, retry=retry, due=DUE)


@pytest.mark.parametrize(
    ("waits", "says"),
    [
        ("next", "first in the queue"),
        ("before", "3 submissions before it"),
        ("own", "your party already has as many submissions running"),
        ("again", "Next try from 2026-12-05\N{NO-BREAK SPACE}10:05\N{NO-BREAK SPACE}UTC on"),
        ("named", "goes first"),
    ],
)
def test_a_waiting_submission_says_why_and_until_when_and_can_be_cancelled(waits, says):
    shown = page(waits, retry="2026-12-05T10:05:20+00:00")
    assert says in shown
    assert "from 2027-01-01\N{NO-BREAK SPACE}00:00\N{NO-BREAK SPACE}UTC on" in shown
    assert f'method="post" action="/submission/{ONE["id"]}/cancel">' in shown
    assert "<button>Cancel</button>" in shown
    assert "If the month turns" not in page(waits, set="dev")


def test_it_says_what_was_submitted_and_when_it_began_and_ended():
    shown = page(state="done", **ENDED)
    assert "registry.example/&lt;agent&gt;:1" in shown
    written = [f"2026-12-05\N{NO-BREAK SPACE}{at}\N{NO-BREAK SPACE}UTC" for at in ("10:00", "11:00", "12:34")]
    assert re.findall("<dt>(?:Submitted|Started|Ended)</dt><dd>(.*?)</dd>", shown) == written


def test_a_finished_submission_says_its_result_above_everything_else():
    scored = page(state="done", set="dev", score={"passed": 1, "attempted": 2}, **ENDED)
    assert "<dt>Passed</dt><dd>1 of 2 tasks</dd>" in scored
    shown = page(state="done", figures={"sealed": PART, "whole": PART}, **ENDED)
    assert "<dt>Success</dt><dd>54.0\N{NARROW NO-BREAK SPACE}%</dd>" in shown
    assert "<dt>Success</dt>" not in page(state="failed", failure=None, **ENDED)


def test_a_long_digest_is_shortened_in_the_heading_and_whole_below_it():
    whole = "registry.example/agent@sha256:" + "ab" * 32
    shown = page(agent=whole)
    assert f'<h1><span class="id">{whole[:-52]}…</span></h1>' in shown
    assert f'<p class="note id">{whole}</p>' in shown


def test_a_submission_that_lasts_can_be_cancelled_and_keeps_its_page_up_to_date_and_an_ended_one_does_not():
    for state, place in (("queued", 3), ("running", None)):
        shown = page(state=state, place=place)
        assert f'data-events="/submission/{ONE["id"]}/events" data-shown="{state} {json.dumps(place)}"' in shown
        assert shown.count("<script") == 1
        assert f'<a href="/submission/{ONE["id"]}">Refresh</a>' in shown, "without a script"
    for state in ("done", "failed", "cancelled"):
        shown = page(state=state, **ENDED)
        assert "/cancel" not in shown
        assert "<script" not in shown


OURS_AND_THEIRS = [next(code for code in CODES if CODES[code].ours is ours) for ours in (True, False)]


@pytest.mark.parametrize("of", ["private", "dev", "check"])
@pytest.mark.parametrize("state", ["queued", "running", "done", "failed", "cancelled"])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("code", OURS_AND_THEIRS)
def test_one_sentence_says_what_it_costs_and_it_is_true(of, state, started, code):
    """What is said before the end is held against what is charged after it; `started` is served, for a private run."""
    private = of == "private"
    known = {"served": private and started, "started": not private and started}
    ended = state in ("failed", "cancelled")
    now = charged(state, code if ended else None, **known)
    failure = {"code": code, "hint": "", "ours": CODES[code].ours} if ended else None
    at = "2026-12-05T11:00:00+00:00" if started else None
    shown = re.sub(r"\s+", " ", page(state=state, set=of, charged=now, started_at=at, failure=failure, place=None))
    (cost,) = re.findall(r"It (?:cost nothing|used one|uses one)[^.]*\.", shown)
    assert ("cost nothing" in cost) is not now
    assert len(re.findall("refund|costs nothing|counts against", shown)) == 0, "no other sentence speaks of it"
    if state in ("queued", "running"):
        failed, gone = charged("failed", code, **known), charged("cancelled", "cancelled", **known)
        if private:
            assert "if it ends before it is served a task" in cost
            assert failed is gone is started
        elif started:
            assert "only if a failure of ours ends it" in cost
            assert (failed, gone) == (not CODES[code].ours, True)
        else:
            assert "cancelled before it starts" in cost
            assert gone is False


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_hint(code):
    failure = {"code": code, "hint": CODES[code].hint, "ours": CODES[code].ours}
    shown = page(state="failed", failure=failure, charged=not CODES[code].ours, **ENDED)
    assert f"Failed with the code {code}.</strong> {CODES[code].hint}" in shown


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({"figures": {"whole": PART, "sealed": PART | {"success_rate": {"value": 0.7}}}}, 0.7),
        ({"figures": {"whole": PART, "sealed": {}}, "kind": "endpoint"}, 0.54),
        ({}, None),
        ({"set": "dev", "score": {"passed": 1, "attempted": 2}}, 0.5),
        ({"set": "check"}, None),
    ],
)
def test_a_score_is_what_its_owner_may_see(more, share):
    assert submission.success(ONE | more) == share


def test_figures_are_drawn_as_they_were_disclosed():
    shown = page(state="done", run=7, **ENDED, figures={"whole": PART, "sealed": PART})
    assert shown.count("<circle") == 8
    assert "54.0" in shown
    assert "are shown once the tasks are published" in shown


def test_a_trace_is_shown_call_by_call_and_is_text():
    shown = page(state="done", **ENDED, trace={"tasks": [{"run": RUN}]})
    assert 'href="/task/t-aaaaaaaaaaaaaaaa"' in shown
    assert "&lt;b&gt;" in shown
    assert not re.search("<b>|<agent>|<i>|<u>", shown)
    for text in ("without an answer, exit status 3", "&lt;i&gt;no key", "true: filesystem.fileExists"):
        assert text in shown
    task = {"server": "filesystem", "category": "composition", "difficulty": "easy", "goal": "Make <s>it</s>."}
    assert "Make &lt;s&gt;it" in page(state="done", **ENDED, trace={"tasks": [{"task": task, "run": RUN}]})
    grids = submission.grids(ONE, QUOTAS, {"tasks": [{"run": RUN}]})
    assert set(grids) == {"quotas", "tasks", "calls"}
    assert b"'=1+1" in grids["calls"].as_csv()


def overview(records, *queries, form=None, images=("ada/",), models=()):
    shown = submission_form.view(form or Form("key"), QUOTAS, "http://bench.example", images=images, models=models)
    return submission.overview("ada", records, QUOTAS, *queries, submit=shown)


def test_the_list_is_empty_or_leads_to_each():
    assert "No submissions yet" in overview([])
    shown = overview([ONE | {"set": "dev", "score": {"passed": 1, "attempted": 2}}], "?cursor=w", "?cursor=x")
    assert f'href="/submission/{ONE["id"]}"' in shown
    assert "registry.example/&lt;agent&gt;:1" in shown
    assert "50.0\u202f%" in shown
    assert 'href="/mine?cursor=x"' in shown
    assert 'href="/mine/submissions.csv?cursor=w"' in shown


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_mistake_is_told_at_its_field_and_what_was_given_stays(problem):
    form = Form("key", "<b>mine</b>:1", "private", "big", counts=True, problem=problem)
    shown = overview([], form=form, models=("big", "small"))
    name, words = PROBLEMS[problem]
    (told,) = re.findall(r'<span class="wrong" id="([\w-]+)-wrong" role="alert">(.*?)</span>', shown)
    assert told[0] == name
    assert html.unescape(told[1]).startswith(words.partition("{")[0])
    assert shown.count(f'aria-invalid="true" aria-describedby="{name}-wrong"') == 1
    assert 'value="&lt;b&gt;mine&lt;/b&gt;:1"' in shown
    assert 'value="private" checked="checked"' in shown
    assert '<option selected="selected">big</option>' in shown
    assert "<b>mine" not in shown


@pytest.mark.parametrize(
    ("form", "path", "body"),
    [
        (Form("k", "ada/mine:1"), "submissions", {"image": "ada/mine:1", "set": "dev"}),
        (Form("k", "it's:1", "check"), "checks", {"image": "it's:1"}),
        (Form("k", "https://a.example/$(x)", "private", "big", counts=True), "submissions",
         {"endpoint": "https://a.example/$(x)", "set": "private", "model": "big", "counts": True}),
    ],
)  # fmt: skip
def test_the_line_for_curl_makes_the_request_of_the_form(form, path, body):
    shown = html.unescape(re.findall("<code>(curl .*?)</code>", overview([], form=form))[0])
    words = shlex.split(shown)
    assert words[-1] == f"http://bench.example/{path}"
    assert json.loads(words[words.index("-d") + 1]) == body


def test_the_form_says_what_each_set_costs_and_what_images_may_be_named():
    shown = overview([])
    assert shown.count("3 of 5 left until 2027-01-01") == 3
    assert "by a name that begins with ada/" in shown
    assert "under any name" in overview([], images=("",))
    assert "Language model" not in shown
