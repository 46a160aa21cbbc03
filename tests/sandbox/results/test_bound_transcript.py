"""Tests of the transcript document that a result commits to: what is in it, and that its bytes are always the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from sandbox.results.bound_transcript import transcript_bytes
from sandbox.results.outcome import TaskRun, unplayed
from sandbox.results.unjudged import UnjudgedResult
from sandbox.transcript import CallRecord, Transcript
from vault.canonical import canonical
from vault.ledger.statements.forms import require_form
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.results import TRANSCRIPT
from verifiers.language.verdict import Evidence, Verdict

from ..builders import Hands, a_task, in_memory, run_set

CALL = CallRecord("fs.read", {"path": "a"}, listed=True, error=True, injected=False, result="no", seconds=0.25)
PLAYED = TaskRun(
    task_id="t-1",
    category="recovery",
    max_steps=3,
    verdict=Verdict.FALSE,
    evidence=Evidence("leaf", Verdict.FALSE),
    transcript=Transcript((CALL,), "42", "answered"),
    goal="Find it",
    served="ab" * 32,
)
LOST = replace(PLAYED, transcript=Transcript((), None, "gateway-lost"), goal="", served="", failure="ours")


def parsed(data):
    document = parse_canonical(data, "the transcript")
    require_form(TRANSCRIPT, document, "the transcript")
    return document


def sealed(outcome):
    """Return an outcome as it comes back out of its seal."""
    return TaskRun.from_json(json.loads(json.dumps(outcome.to_sealed_json())))


def test_the_document_says_what_was_served_done_and_answered():
    data = transcript_bytes(PLAYED)
    assert parsed(data) == {
        "goal": "Find it",
        "served": "ab" * 32,
        "attempts": [
            {
                "ended": "answered",
                "answer": "42",
                "calls": [{"tool": "fs.read", "arguments": '{"path":"a"}', "result": "no", "error": True}],
            }
        ],
    }


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_transcript_is_bound_whatever_the_verdict(verdict):
    assert transcript_bytes(replace(PLAYED, verdict=verdict)) == transcript_bytes(PLAYED)


def test_there_is_none_only_where_no_attempt_left_one():
    assert transcript_bytes(LOST) is None
    assert transcript_bytes(unplayed(a_task(), "unclear", "worker-lost")) is None
    retried = json.loads(transcript_bytes(replace(LOST, earlier=(PLAYED,))))
    assert (retried["goal"], [attempt["ended"] for attempt in retried["attempts"]]) == (
        "Find it",
        ["answered", "gateway-lost"],
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"b": 2, "a": "\ud800"}, '{"a":"\\ud800","b":2}'),
        ({"n": 10**30}, '{"n":1000000000000000000000000000000}'),
        ({"n": float("inf")}, '{"n":Infinity}'),
        ({"é": "ü"}, '{"é":"ü"}'),
    ],
)
def test_what_has_no_canonical_form_is_text_and_survives_its_seal(arguments, text):
    call = replace(CALL, arguments=arguments, result="x\udfff")
    outcome = replace(PLAYED, transcript=Transcript((call,), "y\udc00", "answered"))
    data = transcript_bytes(outcome)
    assert data == transcript_bytes(sealed(outcome)) == canonical(json.loads(data))
    (attempt,) = parsed(data)["attempts"]
    assert (attempt["calls"][0]["arguments"], attempt["calls"][0]["result"]) == (text, "x\\udfff")
    assert attempt["answer"] == "y\\udc00"


def test_whoever_judges_what_a_killed_worker_left_binds_the_same_bytes():
    kept: list[UnjudgedResult] = []
    box, agent = in_memory(lambda made: Hands(made).solve())
    task = a_task()
    (outcome,) = run_set([task], agent, box, keep_unjudged=kept.append)
    left = UnjudgedResult.from_bytes(kept[-1].to_bytes())
    (judged,) = run_set([task], agent, box, left={task.id: left})
    assert transcript_bytes(sealed(judged)) == transcript_bytes(sealed(outcome))
    document = json.loads(transcript_bytes(outcome))
    assert document["goal"] == task.goal
    assert document["served"] == hashlib.sha256(task.canonical()).hexdigest()
    assert len(document["attempts"][0]["calls"]) == outcome.calls > 0
