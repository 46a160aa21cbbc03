"""Tests of replaying a transcript: what its calls lead to is compared with the state that was handed in."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Unavailable
from sandbox.judge import JUDGING
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.job import RunSetup
from sandbox.runs.rejudge import JudgeAgain
from sandbox.runs.replay import ReplayResult, replay
from sandbox.runs.task_world import untouched
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState

from ..builders import TOOLS, Hands, an_sqlite_task, in_memory, run_set
from ..memory_box import MemoryWorld

TASK, _ = an_sqlite_task()


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch):
    monkeypatch.setattr("sandbox.runs.replay.CLOCK_SECONDS", 0.0)  # no server here shows the time


def played(story, **tools):
    """Play a task in memory; give its box, and what it left as it comes back out of its seal."""
    kept: list[UnjudgedResult] = []
    box, agent = in_memory(lambda made: story(Hands(made)), **tools)
    run_set([TASK], agent, box, keep_unjudged=kept.append)
    return box, UnjudgedResult.from_bytes(kept[-1].to_bytes())


def replayed(box, left: UnjudgedResult) -> ReplayResult:
    return replay(RunSetup.in_box(box).player, JUDGING, TASK, left)


IDS = count(100)


def add_with_another_id(world: MemoryWorld, query: str) -> str:
    """Write a row as a server does that gives each row an id which it never gave before."""
    return TOOLS["sqlite.write_query"](world, query=query.replace("(2,", f"({next(IDS)},"))


def test_calls_that_are_played_again_lead_to_the_state_that_was_handed_in():
    def story(hands):
        hands.call("filesystem__nothing")  # no server had this call
        hands.add()

    box, left = played(story)
    assert replayed(box, left) is ReplayResult.SAME
    assert len(box.worlds) == 2
    assert len(box.agents) == 1, "a replay has no agent"


@pytest.mark.parametrize("state", [untouched(TASK.document), FrozenState(b"no tar")])
def test_another_state_than_the_calls_lead_to_is_found(state):
    box, left = played(Hands.add)
    assert replayed(box, replace(left, state=state)) is ReplayResult.DIFFERS


def test_a_state_that_no_call_leads_to_is_found():
    box, left = played(Hands.add)
    assert replayed(box, replace(left, transcript=Transcript((), None, "answered"))) is ReplayResult.DIFFERS


def test_nothing_is_said_of_what_a_server_draws_anew_each_time_but_a_change_that_is_missing_is_found():
    box, left = played(Hands.add, sqlite__write_query=add_with_another_id)
    assert replayed(box, left) is ReplayResult.NOT_COMPARABLE
    assert replayed(box, replace(left, state=untouched(TASK.document))) is ReplayResult.DIFFERS


@pytest.mark.parametrize(("ended", "servers_missed"), [("time-exceeded", 0), ("agent-exited", 1)])
def test_nothing_is_said_where_a_call_was_cut_off(ended, servers_missed):
    box, left = played(Hands.add)
    facts, transcript = replace(left.facts, servers_missed=servers_missed), replace(left.transcript, ended=ended)
    changed = replace(left, state=untouched(TASK.document), facts=facts, transcript=transcript)
    assert replayed(box, changed) is ReplayResult.NOT_COMPARABLE


def test_nothing_is_said_where_the_calls_cannot_be_played():
    box, left = played(Hands.add)
    (call,) = left.transcript.calls
    invented = replace(left.transcript, calls=(call,) * (TASK.max_steps + 2))  # more than a session has
    assert replayed(box, replace(left, transcript=invented)) is ReplayResult.NOT_PLAYED


def test_nothing_is_said_where_this_machine_has_no_such_box():
    def no_box(name):
        raise Unavailable(f"no {name} here")

    _, left = played(Hands.add)
    with JudgeAgain(no_box) as again:
        assert again.replay("docker", TASK, left) is ReplayResult.NOT_PLAYED


@pytest.mark.box
@pytest.mark.slow
def test_calls_are_played_again_in_a_real_world_by_a_supervisor_and_not_by_this_process(monkeypatch):
    _, left = played(Hands.add)
    monkeypatch.setattr("sandbox.servings.local_player.LocalPlayer.prepare", pytest.fail)
    with JudgeAgain(lambda _: BwrapBox()) as again:
        assert again.replay("bwrap", TASK, left) is ReplayResult.SAME
        assert again.replay("bwrap", TASK, replace(left, state=untouched(TASK.document))) is ReplayResult.DIFFERS
