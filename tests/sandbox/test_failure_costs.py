"""Tests of what a failure costs, by fault injection: each is caused from outside, or by an agent's own calls.

The rulings are tested in the box in memory, whose worlds and agents end in every way that a kernel or an engine can
report. That a kernel or an engine reports these facts is tested once a kind: in tests/contracts/test_boxes.py, beside
each box, and here where a whole run decides.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from sandbox import runner_identity as runners
from sandbox.boxes.box import Box, ExitFacts, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost, Malformed
from sandbox.gateway import FORK_SERVER
from sandbox.results import failure
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result, score
from sandbox.runs import attempt
from sandbox.runs.run import Terms
from sandbox.servings.run_environment import Timeouts
from sandbox.shared_lock import SharedLock
from verifiers.language.verdict import Verdict

from ..patience import PATIENCE, until
from ..sampling import sample
from .builders import Hands, a_task, an_agent, an_sqlite_task, in_memory, run, run_set
from .memory_box import MemoryBox

SQLITE, _ = an_sqlite_task()
CUT_OFF = ExitFacts(running=False, relay_died=True)


def outcomes(outcome: TaskRun) -> tuple[list[str], bool]:
    """Return the outcome of each attempt, in order, and whether the last one passed."""
    return [f"{one.failure}: {one.code}" for one in (*outcome.earlier, outcome)], outcome.passed


def played(story, deed=None, *, task=SQLITE, terms=None, **more):
    """Play a function in memory; `deed` is done to its first attempt, between `look` and `add`."""

    def whole(made):
        hands = Hands(made)
        story(hands) if deed is None else interrupted(hands)

    def interrupted(hands):
        story(hands)
        if len(box.agents) == 1:
            deed(box, hands.agent)
        hands.add()

    box, agent = in_memory(whole, **more)
    return run(task, agent, box, terms=terms)


# -- the world, broken by an agent's calls ----------------------------------------------------------------------------


def eating(world, query):
    """Make a query that kills the world's database process, each time."""
    world.lose("sqlite")
    return ""


def test_a_server_that_dies_of_a_call_is_a_fail_and_is_not_served_again():
    outcome = played(Hands.look, sqlite__read_query=eating)
    assert outcomes(outcome) == (["unclear: server-lost"], False)
    assert (outcome.verdict, outcome.attempts) == (Verdict.FALSE, 1)


def test_a_world_that_dies_of_a_call_is_a_fail():
    def dying(world, query):
        world.die(out_of_memory=True)
        return ""

    assert outcomes(played(Hands.look, sqlite__read_query=dying)) == (["unclear: world-died"], False)


def test_starting_more_servers_than_a_world_has_memory_for_is_the_agents_failure(monkeypatch):
    """A world's memory does not hold ten servers, with an agent or without one."""
    real, worlds = MemoryBox.world, []

    def world(box, servers, state, limits):
        worlds.append({server.name for server in servers})
        if len(worlds) > 1 and len(servers) > 1:
            raise Lost("its memory came to an end")
        return real(box, servers, state, limits)

    def story(hands):
        hands.write()
        hands.look()

    monkeypatch.setattr(MemoryBox, "world", world)
    outcome = played(story, sqlite__read_query=eating)
    assert outcomes(outcome) == (["unclear: server-lost"], False)
    assert worlds[1:] == [{"filesystem"}, {"sqlite"}]


def test_a_call_that_breaks_a_server_after_all_is_done_costs_nothing():
    def story(hands):
        hands.add()
        hands.look()

    assert outcomes(played(story, sqlite__read_query=eating)) == (["None: finished"], True)


def test_an_error_that_the_agent_sees_is_no_failure():
    def story(hands):
        hands.call("sqlite__write_query", query="nonsense")
        hands.add()

    assert outcomes(played(story)) == (["None: finished"], True)


def unfrozen(error):
    """Make a query after which the world does not give its state."""

    def query(world, query):
        world.fail_to_freeze(error)
        return ""

    return query


def test_a_state_beyond_the_caps_is_a_fail():
    outcome = played(Hands.look, sqlite__read_query=unfrozen(Malformed("beyond the caps")))
    assert outcomes(outcome) == (["unclear: state-too-large"], False)


def test_a_call_that_makes_a_world_late_is_a_fail_where_an_untouched_one_is_in_time():
    outcome = played(Hands.look, sqlite__read_query=unfrozen(Lost("not in time")))
    assert outcomes(outcome) == (["unclear: not-frozen"], False)


def change_worlds(box, change):
    """Do something to each world that a box makes, before anybody is in it."""
    make = box.world

    def world(servers, state, limits):
        made = make(servers, state, limits)
        change(made, servers)
        return made

    box.world = world


def test_a_call_of_a_tool_that_is_not_listed_does_not_count_as_a_call_of_the_world():
    box, agent = in_memory(lambda made: Hands(made).call("sqlite__rewrite_history"))
    change_worlds(box, lambda world, _: world.fail_to_freeze(Malformed("beyond the caps")))
    outcome = run(SQLITE, agent, box)
    assert outcomes(outcome) == (["ours: state-too-large"] * (failure.RETRIES + 1), False)
    assert [call.passed_on for call in outcome.transcript.calls] == [False]


def test_a_machine_that_is_too_slow_to_freeze_anything_is_ours():
    box, agent = in_memory(lambda made: Hands(made).add())
    change_worlds(box, lambda world, _: world.fail_to_freeze(Lost("not in time")))
    assert outcomes(run(SQLITE, agent, box)) == (["ours: not-frozen"] * (failure.RETRIES + 1), False)


def test_a_call_that_never_ends_is_a_fail_on_a_machine_that_is_in_time_without_it():
    terms = Terms(patience=Timeouts(call=5.0))  # which a server in memory has to come up, too
    outcome = played(Hands.look, sqlite__read_query=lambda world, query: world.hang(), terms=terms)
    assert outcomes(outcome) == (["unclear: server-lost"], False)


def test_a_time_bomb_buys_no_retry():
    """The call breaks its world until a moment, and never after: nobody could prove that it did."""
    calls, armed = itertools.count(), threading.Barrier(4)

    def bomb(world, query):
        if next(calls) < armed.parties:  # all four agents' first, for each waits here for the others
            armed.wait(PATIENCE)
            world.lose("sqlite")
        return ""

    def story(made):
        hands = Hands(made)
        hands.look()
        hands.add()

    box, agent = in_memory(story, sqlite__read_query=bomb)
    runs = run_set([an_sqlite_task(number)[0] for number in range(2, 6)], agent, box, workers=4)
    assert [outcomes(one) for one in runs] == [(["unclear: server-lost"], False)] * 4
    whole = score(Result.of(one, run=1, cohort="c", server="sqlite", skeleton=one.task_id) for one in runs)
    assert (whole.attempted, whole.passed, whole.unknown, whole.ranked) == (4, 0, 0, True)


def test_the_machinery_is_checked_while_no_other_agent_is_at_work(monkeypatch):
    """One agent breaks its world; the other works until a check waits for it, or is made beside it."""
    at_work, seen, turns, both = set(), [], SharedLock(2), threading.Barrier(2)
    monkeypatch.setattr("sandbox.servings.local_player.SharedLock", lambda most: turns)

    def story(made):
        at_work.add(made)
        both.wait(PATIENCE)
        if made is box.agents[0]:
            Hands(made).look()
        else:
            until(lambda: turns.awaited or seen, "a check of the machinery")
        at_work.discard(made)

    def count(*_):
        if len(box.worlds) > 2:  # those of the agents are there by then
            seen.append(len(at_work))

    box, agent = in_memory(story, sqlite__read_query=eating)
    change_worlds(box, count)
    run_set([an_sqlite_task(number)[0] for number in (2, 3)], agent, box, workers=2)
    assert seen == [0]


class Jumping:
    """A monotonic clock that leaps ahead once."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


def test_an_agent_whose_time_runs_out_by_our_own_clock_has_failed():
    def deed(_, agent):
        clock.ahead = 3600.0
        agent.hang()

    clock = Jumping()
    assert outcomes(played(Hands.look, deed, terms=Terms(clock=clock))) == (["theirs: time-exceeded"], False)


# -- what stands around an agent, broken by us ------------------------------------------------------------------------


def no_word(_):
    """Send nothing, so that no call was made."""


@pytest.mark.parametrize("before", [no_word, Hands.look])
def test_a_server_that_is_killed_from_outside_is_a_fail(before):
    """That holds before any call too: an agent that took the gateway over could call unlogged."""
    outcome = played(before, lambda box, _: box.worlds[0].lose("sqlite"))
    assert outcomes(outcome) == (["unclear: server-lost"], False)
    assert [call.error for call in outcome.transcript.calls][-1:] == [True]


def test_a_world_that_is_killed_from_outside_is_a_fail_whatever_was_called():
    outcome = played(Hands.look, lambda box, _: box.worlds[0].die())
    assert outcomes(outcome) == (["unclear: world-died"], False)
    assert outcome.transcript.calls, "what was seen of it is kept"


def test_a_world_that_cannot_start_its_servers_is_ours_though_a_call_met_it_first():
    def impoverish(world, servers):
        for server in servers:
            world.lose(server.name)

    box, agent = in_memory(lambda made: Hands(made).add())
    change_worlds(box, impoverish)
    outcome = run(SQLITE, agent, box)
    assert outcomes(outcome) == (["ours: server-lost"] * (failure.RETRIES + 1), False)
    assert outcome.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("facts", "codes", "passed"),
    [
        (CUT_OFF, ["unclear: relay-lost"], False),
        (ExitFacts(running=False, lost=True), ["ours: engine-lost", "None: finished"], True),
    ],
)
def test_only_an_engine_that_is_lost_serves_an_agent_again(facts, codes, passed):
    def deed(_, agent):
        agent.die(facts)

    assert outcomes(played(Hands.look, deed)) == (codes, passed)


def test_a_gateway_that_is_killed_is_a_fail():
    def deed(*_):
        youngest = str(FORK_SERVER.pid)
        while children := Path(f"/proc/{youngest}/task/{youngest}/children").read_text().split():
            youngest = children[-1]
        os.kill(int(youngest), signal.SIGKILL)

    outcome = played(Hands.look, deed)
    assert outcomes(outcome) == (["unclear: gateway-lost"], False)
    assert [call.result for call in outcome.transcript.calls], "what it had logged is kept"


def test_a_gateway_that_does_not_come_up_is_ours(monkeypatch):
    def spoiled(*args, **kwargs):
        return replace(specify(*args, **kwargs), faults=[{"no": "fault"}])

    specify = attempt.specify
    monkeypatch.setattr(attempt, "specify", spoiled)
    assert outcomes(played(Hands.add)) == (["ours: gateway-not-ready"] * 3, False)


def test_no_room_for_the_sockets_of_a_run_is_ours(monkeypatch, tmp_path):
    (tmp_path / "full").write_text("no folder can be made in a file")
    monkeypatch.setattr(runners, "SHARED_MEMORY", tmp_path / "full")
    assert outcomes(played(Hands.add)) == (["ours: world-not-started"] * 3, False)


def test_the_time_of_day_decides_nothing(monkeypatch):
    real, calls = time.time, itertools.count()
    monkeypatch.setattr(time, "time", lambda: real() + (-1) ** next(calls) * 86400.0)
    assert outcomes(played(Hands.add)) == (["None: finished"], True)


# -- the same in a real box, once a kind ---------------------------------------------------------------------------

BLOB = "hex(randomblob(250000000))"
"""Half a gigabyte of text, made and then copied in the reader's memory."""
EAT = f'call("sqlite__read_query", query="SELECT {BLOB}, {BLOB}")\n'
ADD = """call("sqlite__write_query", query="INSERT INTO people (id, name) VALUES (2, 'Grace')")\n"""
BOXES = [
    pytest.param("bwrap", marks=[pytest.mark.box, pytest.mark.slow]),
    pytest.param("docker", marks=[pytest.mark.engine, pytest.mark.slow]),
]
SAMPLE = sample(BOXES, keep=BOXES[:1])


@cache
def checked(name: str) -> Box:
    """Return a box that was checked; it keeps what it has found of the machine."""
    made = {"bwrap": BwrapBox, "docker": DockerBox}[name]()
    made.check()
    return made


@pytest.fixture
def box(request):
    yield checked(getattr(request, "param", "bwrap"))
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))


@pytest.mark.parametrize("box", SAMPLE, indirect=True)
@pytest.mark.needs("root")
def test_a_call_that_eats_the_worlds_memory_is_a_fail(box, tmp_path):
    outcome = run(SQLITE, an_agent(tmp_path / "ada", EAT), box)
    assert outcomes(outcome) == (["unclear: server-lost"], False)


@pytest.mark.full
@pytest.mark.box
@pytest.mark.slow
def test_a_full_disk_is_an_error_that_the_agent_sees_and_no_failure(box, tmp_path):
    fill = 'call("sqlite__create_table", query="CREATE TABLE f AS SELECT zeroblob(90000000) AS b")\n'
    outcome = run(SQLITE, an_agent(tmp_path / "ada", fill + ADD), box)
    assert "full" in outcome.transcript.calls[0].result
    assert outcome.failure is None, outcomes(outcome)


@pytest.mark.parametrize("box", SAMPLE, indirect=True)
@pytest.mark.needs("root")
def test_a_world_with_too_little_memory_for_its_servers_is_ours(box, tmp_path):
    """A server starts with its first call and fails without the call's fault; the check tells the two apart."""
    terms = Terms(world=ResourceLimits(memory=48 * 1024 * 1024))
    codes, passed = outcomes(run(SQLITE, an_agent(tmp_path / "ada", ADD), box, terms=terms))
    assert not passed
    assert len(codes) == failure.RETRIES + 1
    assert all(code.startswith("ours: ") for code in codes), codes


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.full
def test_a_world_whose_disk_is_too_small_for_its_seed_is_ours(box, tmp_path):
    task = a_task(initial_state={"filesystem": {"files": {"one.txt": "1" * 200_000}}})
    terms = Terms(world=ResourceLimits(tmpfs=64 * 1024))
    assert outcomes(run(task, an_agent(tmp_path / "ada", ADD), box, terms=terms)) == (
        ["ours: world-died"] * (failure.RETRIES + 1),
        False,
    )
