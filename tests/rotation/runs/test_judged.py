"""Tests of judged runs: the set names the judge, a run names the set's, and neither can be changed within a month."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rotation.errors import Refused
from rotation.exposure.tracks import DOCKER, ENDPOINT, JUDGED, MODEL, UNOFFICIAL, track_of
from rotation.month.judge import JudgeDigests
from sandbox.isolation.run_classes import run_class
from sandbox.runs.claims import has_claims
from vault.task.document import Task

from ..conftest import BEFORE, FIRST, SINGLE, NamedBox, document, submission

pytestmark = pytest.mark.slow

JUDGE = JudgeDigests(anchors="a" * 64, parameters="b" * 64, rubric="c" * 64)
OTHER = replace(JUDGE, rubric="d" * 64)
CLAIMS = {"answer.claims": {"claims": [{"id": "who", "text": "It was Ada."}]}}


@pytest.fixture
def judged_home(benchmark_home):
    """Return a home whose first set names a judge."""
    benchmark_home.judge = JUDGE
    benchmark_home.rotation.run(BEFORE)
    return benchmark_home


def test_a_judge_is_an_exit_and_a_track_of_its_own_where_there_is_no_other_exit():
    image, hosted = submission("ada"), submission("ada", "endpoint")
    official, other = NamedBox(), NamedBox("bwrap", official=False)
    assert track_of(image, official) is DOCKER
    assert track_of(image, official, judged=True) is JUDGED
    assert track_of(image, official, "gpt", judged=True) is MODEL
    assert track_of(image, other, judged=True) is UNOFFICIAL
    assert track_of(hosted, official, judged=True) is ENDPOINT
    assert run_class(private=True, kind="image") == "sealed"
    assert {run_class(private=True, kind=kind, judged=True) for kind in ("image", "command")} == {"open"}


def test_the_set_names_the_judge_and_a_run_names_that_of_its_set(judged_home):
    says = judged_home.leaf(f"set/{FIRST}").predicate
    assert says["judge"] == {"anchors": "a" * 64, "parameters": "b" * 64, "rubric": "c" * 64}
    run = judged_home.play("careful", 0.5)
    opened = judged_home.leaf(f"run-open/{run.record.number}").predicate
    assert (opened["judge"], opened["track"]) == (JUDGE.digest, "docker-judged")
    judged_home.rotation.run(FIRST)
    judged_home.audited(FIRST)


@pytest.mark.parametrize(("now", "sentence"), [(None, "the settings name none"), (OTHER, "names another claim judge")])
def test_no_run_is_opened_or_resumed_with_another_judge_than_the_set_names(judged_home, now, sentence):
    run = judged_home.open()
    judged_home.judge = now
    with pytest.raises(Refused, match=sentence):
        judged_home.open("later")
    with pytest.raises(Refused, match=sentence):
        judged_home.official.resume(run.record.number, submission("careful"), NamedBox())
    assert [record.number for record in judged_home.runs.list()] == [run.record.number]
    judged_home.judge = JUDGE
    assert judged_home.official.resume(run.record.number, submission("careful"), NamedBox()).judge == JUDGE.digest


def test_a_judge_that_is_named_in_the_middle_of_a_month_judges_from_the_next_set_on(begun_home):
    begun_home.judge = JUDGE
    run = begun_home.play("careful", 0.5)
    assert "judge" not in begun_home.leaf(f"run-open/{run.record.number}").predicate
    assert (run.record.track, begun_home.official.judged()) == ("docker", False)
    begun_home.rotation.run(FIRST)
    assert begun_home.official.judged()
    assert begun_home.open().record.track == "docker-judged"


def test_only_a_task_that_is_judged_counts_as_shown_to_the_judge_s_upstream(judged_home):
    run = judged_home.open()
    first, second, *_ = run.tasks
    judged_home.run_tasks.serve(run, first, judged_by="local")
    judged_home.run_tasks.serve(run, second)
    shown = {(task, channel) for task, _, channel, _ in judged_home.exposures.totals()}
    assert shown == {(first, "docker"), (first, "upstream:local"), (second, "docker")}


def test_tasks_with_claims_are_served_to_no_run_without_a_judge(benchmark_home, monkeypatch):
    monkeypatch.setattr("rotation.runs.run_tasks.has_claims", lambda task: True)
    benchmark_home.rotation.run(BEFORE)
    run = benchmark_home.open()
    with pytest.raises(Refused, match=r"have claims that a language model judges, .* name one in \[claim_judge\]"):
        benchmark_home.run_tasks.prepare(run)
    assert not benchmark_home.run_tasks.was_served(run.record.number)


def test_a_task_with_claims_is_told_from_others():
    plain = document(1, SINGLE)
    assert not has_claims(Task.parse(plain))
    nested = {"any": [{"not": {"all": [plain["success_predicate"], CLAIMS]}}]}
    for judged in (CLAIMS, {"not": CLAIMS}, nested):
        assert has_claims(Task.parse(plain | {"success_predicate": judged}))
    mention = {"answer.equals": {"text": "answer.claims"}}
    assert not has_claims(Task.parse(plain | {"success_predicate": mention}))
