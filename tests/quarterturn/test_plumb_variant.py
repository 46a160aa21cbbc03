"""Tests of `plumb variant`: recomputes from a published task and its key what a run was shown."""

from __future__ import annotations

import base64
import json
from random import Random

import pytest

from grammars.draw.sample import sample
from vault.task import variant
from vault.task.document import Task

from ..shipped import shipped

KEY = variant.task_key(b"test-master-key", "t-aaaaaaaaaaaaaaaa")


@pytest.fixture(scope="module")
def task() -> Task:
    document = sample(shipped("filesystem"), Random(4)).task
    return Task.parse(document).keyed(variant.digest(KEY))


@pytest.fixture
def plumb(say, monkeypatch, tmp_path):
    def given(*documents, options=()):
        (tmp_path / "in").write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents))
        with (tmp_path / "in").open() as text:
            monkeypatch.setattr("sys.stdin", text)
            return say("plumb", "variant", *options)

    return given


def asked(task, **changes):
    about = {"task": task.document, "key": base64.b64encode(KEY).decode(), "submitter": "acme", "month": "2026-12"}
    return about | changes


def test_the_values_are_those_that_the_submitter_was_served(task, plumb):
    said = plumb(asked(task))
    values = variant.assigned(KEY, "acme", "2026-12", task.free)
    assert said.code == 0
    assert json.loads(said.out) == {"ok": True, "values": values, "goal": task.filled(values).goal}


def test_the_key_may_stand_as_a_release_has_it(task, plumb):
    assert plumb(asked(task, key=KEY.hex())).out == plumb(asked(task)).out


def test_another_key_than_the_one_committed_to_is_a_no_with_a_sentence(task, plumb):
    said = plumb(asked(task, key=base64.b64encode(bytes(32)).decode()))
    assert said.code == 1
    assert task.id in json.loads(said.out)["error"]


def test_a_task_without_a_key_was_served_as_its_base_to_everybody(plumb):
    plain = Task.parse(sample(shipped("filesystem"), Random(4)).task)
    assert json.loads(plumb({"task": plain.document}).out)["goal"] == plain.base().goal


def test_with_lines_each_document_gets_an_answer_and_a_bad_one_stops_nothing(task, plumb):
    bad = asked(task, month="2026")
    said = plumb(asked(task), "{", bad, asked(task, submitter="bolt"), {"task": 3}, options=("--lines",))
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert [answer["ok"] for answer in answers] == [True, False, False, True, False]
    assert answers[0]["values"] != answers[3]["values"]
    assert "YYYY-MM" in answers[2]["error"]
