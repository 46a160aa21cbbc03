"""Tests of judging a sealed state again: in processes of its own, by the same predicate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.errors import Lost, Unjudged
from sandbox.judge import WORKER
from sandbox.judge.process import JUDGE, READER
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.rejudge import JudgeAgain
from sandbox.runs.task_world import read_by
from sandbox.world.frozen import FrozenState
from verifiers.language.verdict import Verdict

from ..builders import Hands, a_task, an_sqlite_task, in_memory, run_set, tools


def no_box(name):
    raise AssertionError(f"nobody needs the box {name}")


def played(story):
    """Play a task, and give it, its state as it comes back out of its seal, and the run."""
    kept: list[UnjudgedResult] = []
    box, agent = in_memory(lambda made: story(Hands(made)))
    task = an_sqlite_task()[0]
    (run,) = run_set([task], agent, box, keep_unjudged=kept.append)
    return task, UnjudgedResult.from_bytes(kept[-1].to_bytes()), run


@pytest.mark.parametrize("story", [Hands.add, Hands.look])
def test_rejudging_gives_the_same_verdict(story):
    task, left, run = played(story)
    with JudgeAgain(no_box) as again:
        assert again.verdict("memory", task, left) is run.judged is run.verdict
    assert run.judged_by == WORKER


def test_a_state_is_judged_as_it_is_whatever_was_said_of_it():
    task, left, run = played(Hands.look)
    assert replace(run, verdict=Verdict.TRUE).passed, "what a worker that lies would have said"
    with JudgeAgain(no_box) as again:
        assert again.verdict("memory", task, left) is Verdict.FALSE
        assert again.verdict("memory", task, replace(left, state=FrozenState(b"no tar"))) is None


@pytest.mark.full
def test_others_judge_than_at_first_and_they_are_gone_afterwards():
    task, left, _ = played(Hands.add)
    with JudgeAgain(no_box) as again:
        again.verdict("memory", task, left)
        pids = {server.pid for server in again._servers}
        assert not pids & {READER.pid, JUDGE.pid, None}
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_run_without_a_state_was_judged_by_nobody():
    box, agent = in_memory(lambda made: (box.worlds[-1].die(), Hands(made).add()))
    (run,) = run_set([an_sqlite_task()[0]], agent, box)
    assert (run.judged_by, run.judged) == ("", None)


def test_a_backends_state_is_read_back_and_unknown_if_the_backend_breaks(monkeypatch):
    wanted = {"postgres.rowExists": {"table": "people", "where": {"id": 1}}}
    listed = tools("postgres", 5) + tools("filesystem", 8)
    task = a_task("postgres", initial_state={}, available_tools=listed, success_predicate=wanted)
    assert [server.name for server in read_by(task)] == ["postgres"]
    asked: list[str] = []

    def broken(box, *_args, **_more):
        asked.append(box)
        raise Lost("its world went away")

    monkeypatch.setattr("sandbox.runs.rejudge.read_back", broken)
    _, left, _ = played(Hands.add)
    with JudgeAgain(lambda name: f"the box {name}") as again, pytest.raises(Unjudged, match="2 times"):
        again.verdict("docker", task, left)
    assert asked == ["the box docker"] * 2
