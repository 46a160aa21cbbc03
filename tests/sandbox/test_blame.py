"""Ours or theirs, by injection: each failure is really brought about, by us from outside or by an agent's own calls."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import attempt, failure
from sandbox import runner as runners
from sandbox.box import Limits
from sandbox.channel import Channel
from sandbox.docker_box import RELAY_IMAGE, WORLD_IMAGE
from sandbox.gateway import NURSERY
from sandbox.outcome import TaskRun
from sandbox.replay import script_of
from sandbox.run import Terms, run_set
from sandbox.runner import runner
from sandbox.scene import Patience
from sandbox.score import Result, score
from sandbox.transcript import CallRecord, Transcript
from verifiers.verdict import Verdict

from .sabotage import WAIT, Saboteur, waiting
from .test_run import RIGHT, a_task, an_agent, an_sqlite_task, box, engine, nothing_left, run, tools

__all__ = ["box", "engine", "nothing_left"]

pytestmark = [pytest.mark.box, pytest.mark.slow]

BLOB = "hex(randomblob(250000000))"
"""Half a gigabyte of text, made and then copied in the memory of whoever asks for it."""
EAT = f'call("sqlite__read_query", query="SELECT {BLOB}, {BLOB}")\n'
LOOK = 'call("sqlite__read_query", query="SELECT 1")\n'
ADD = """call("sqlite__write_query", query="INSERT INTO people (id, name) VALUES (2, 'Grace')")\n"""
SQLITE, _ = an_sqlite_task()

BOTH = pytest.mark.parametrize("which", ["box", pytest.param("engine", marks=pytest.mark.engine)])


def below(pid: int, words: bytes) -> list[int]:
    """Find the processes below one whose command line holds these words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            if words in (process / "cmdline").read_bytes() and pid in ancestors(int(process.name)):
                found.append(int(process.name))
    return found


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid


def killing(words: bytes, *, goes_on: bool = False) -> Saboteur:
    """Kill the first process of ours with these words in its command line, while an agent waits."""

    def deed() -> bool:
        pids = below(os.getpid(), words)
        if pids:
            os.kill(pids[-1], signal.SIGKILL)
        return bool(pids)

    return Saboteur(deed, goes_on=goes_on)


def told(outcome: TaskRun) -> tuple[list[str], bool]:
    """Give what each attempt came to, in order, and whether the last one passed."""
    return [f"{one.failure}: {one.code}" for one in (*outcome.earlier, outcome)], outcome.passed


# -- the world, broken by an agent's calls ----------------------------------------------------------------------------


@BOTH
def test_a_call_that_eats_the_worlds_memory_is_theirs_and_is_not_played_again(which, request, tmp_path):
    made = request.getfixturevalue(which)
    outcome = run(SQLITE, an_agent(tmp_path / "ada", LOOK + EAT), made)
    assert told(outcome) == (["theirs: server-lost"], False)
    assert (outcome.verdict, outcome.attempts) == (Verdict.FALSE, 1)


def test_a_call_that_eats_the_worlds_memory_after_all_is_done_costs_nothing(box, tmp_path, nothing_left):
    assert told(run(SQLITE, an_agent(tmp_path / "ada", ADD + EAT), box)) == (["None: finished"], True)


def test_a_full_disk_is_an_error_that_the_agent_sees_and_no_failure(box, tmp_path, nothing_left):
    fill = 'call("sqlite__create_table", query="CREATE TABLE f AS SELECT zeroblob(90000000) AS b")\n'
    outcome = run(SQLITE, an_agent(tmp_path / "ada", fill + ADD), box)
    assert "full" in outcome.transcript.calls[0].result
    assert outcome.failure is None, told(outcome)


def test_a_state_beyond_the_caps_is_theirs(box, tmp_path, nothing_left):
    deep = 'call("filesystem__create_directory", path="/data/files" + "/d" * 150)\n'
    task = a_task(available_tools=tools("filesystem", 14))
    outcome = run(task, an_agent(tmp_path / "ada", deep), box)
    assert told(outcome) == (["theirs: state-too-large"], False)


def test_a_call_that_never_ends_is_theirs_on_a_machine_that_is_in_time_without_it(box, tmp_path, nothing_left):
    endless = "SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)"
    terms = Terms(agent=Limits(wall=300.0))
    outcome = run(
        SQLITE, an_agent(tmp_path / "ada", f'call("sqlite__read_query", query="{endless}")\n'), box, terms=terms
    )
    assert told(outcome) == (["theirs: server-lost"], False)


def test_a_machine_that_is_too_slow_to_freeze_anything_convicts_nobody(box, tmp_path, nothing_left, monkeypatch):
    def unheard(channel, timeout):
        channel._done.wait = lambda _: False  # what the world says comes too late, however soon it is
        return freeze(channel, timeout)

    freeze = Channel.freeze
    monkeypatch.setattr(Channel, "freeze", unheard)
    terms = Terms(patience=Patience(freeze=0.0))
    outcome = run(SQLITE, an_agent(tmp_path / "ada", ADD), box, terms=terms)
    assert told(outcome) == (["unclear: not-frozen"] * 3, False)


def test_a_bomb_with_a_clock_buys_two_further_draws_in_a_whole_run_and_then_an_unknown(box, tmp_path, nothing_left):
    """The call breaks its world until a moment, and holds ever after: no replay can show that it did."""
    bomb = f"SELECT CASE WHEN CAST(strftime('%s', 'now') AS INTEGER) < {{until}} THEN {BLOB} || {BLOB} END"
    story = f"""{WAIT}
until = int(open("until").read())
if time.time() < until:
    call("sqlite__read_query", query=f"{bomb}")
    time.sleep(until + 1 - time.time())
else:
    {ADD}
"""
    agent = an_agent(tmp_path / "ada", story)

    def deed() -> bool:
        if len(waiting()) < 4:
            return False
        (agent.program.folder / "until").write_text(str(int(time.time()) + 20))
        return True

    tasks = [an_sqlite_task()[0]]
    tasks = [a_copy(tasks[0], number) for number in range(2, 6)]
    with Saboteur(deed, goes_on=True):  # as soon as all four are there
        runs = run_set(tasks, agent, box, workers=4, terms=Terms(agent=Limits(wall=900.0)))
    unclear = ["unclear: server-lost", "None: finished"]
    assert sorted(told(one) for one in runs) == [
        (["unclear: server-lost"], False),
        (["unclear: server-lost"], False),
        (unclear, True),
        (unclear, True),
    ]
    assert sum(one.unclear for one in runs) == 4, "each is kept with its transcript, and counted"
    assert all(first.transcript.calls[0].passed_on for one in runs for first in one.earlier)
    whole = score(Result.of(one, run=1, cohort="c", server="sqlite", skeleton=one.task_id) for one in runs)
    assert (whole.attempted, whole.unknown, whole.ranked) == (4, 2, False)


def a_copy(task, number):
    return type(task).parse({**task.document, "id": f"t-aaaaaaaaaaaaaaa{number}"})


# -- the world, broken by us ------------------------------------------------------------------------------------------


@BOTH
def test_a_world_with_too_little_memory_for_its_servers_is_ours_though_a_call_met_it_first(which, request, tmp_path):
    """A server starts with its first call; that it cannot is no doing of the call, and the replay tells the two."""
    terms = Terms(world=Limits(memory=48 * 1024 * 1024))
    outcome = run(SQLITE, an_agent(tmp_path / "ada", ADD), request.getfixturevalue(which), terms=terms)
    codes, passed = told(outcome)
    assert not passed
    assert len(codes) == failure.RETRIES + 1
    assert all(code.startswith("ours: ") for code in codes), codes
    assert outcome.verdict is Verdict.UNKNOWN


def test_a_world_whose_disk_is_too_small_for_its_seed_is_ours(box, tmp_path, nothing_left):
    task = a_task(initial_state={"filesystem": {"files": {"one.txt": "1" * 200_000}}})
    terms = Terms(world=Limits(tmpfs=64 * 1024))
    outcome = run(task, an_agent(tmp_path / "ada", RIGHT), box, terms=terms)
    assert told(outcome) == (["ours: world-died"] * 3, False)


def test_no_room_for_the_sockets_of_a_run_is_ours(box, tmp_path, nothing_left, monkeypatch):
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", str(full)], check=True)
    try:
        monkeypatch.setattr(runners, "SHARED_MEMORY", full)
        outcome = run(a_task(), an_agent(tmp_path / "ada", RIGHT), box)
    finally:
        subprocess.run(["umount", str(full)], check=True)
    assert told(outcome) == (["ours: world-not-started"] * 3, False)


def test_a_server_that_is_killed_before_any_call_is_nobodys_either(box, tmp_path, nothing_left):
    """It was nobody's doing; but who has taken the gateway over may call in secret, and say that nobody did."""
    agent = an_agent(tmp_path / "ada", WAIT + ADD)
    with killing(b"mcp_server_sqlite", goes_on=True):
        outcome = run(SQLITE, agent, box)
    assert told(outcome) == (["unclear: server-lost", "None: finished"], True)


def test_a_server_that_is_killed_from_outside_is_nobodys_and_played_again(box, tmp_path, nothing_left):
    agent = an_agent(tmp_path / "ada", LOOK + WAIT + ADD)
    with killing(b"mcp_server_sqlite", goes_on=True):
        outcome = run(SQLITE, agent, box)
    assert told(outcome) == (["unclear: server-lost", "None: finished"], True)
    (first,) = outcome.earlier
    assert [call.error for call in first.transcript.calls] == [False, True]


@BOTH
def test_a_world_that_is_killed_from_outside_is_ours_whatever_was_called(which, request, tmp_path):
    made = request.getfixturevalue(which)
    agent = an_agent(tmp_path / "ada", LOOK + WAIT + ADD)
    with killing(b"/init.py") if which == "box" else killing_container(WORLD_IMAGE):
        outcome = run(SQLITE, agent, made)
    assert told(outcome) == (["ours: world-killed", "None: finished"], True)


def killing_container(image: str) -> Saboteur:
    """Kill the first container of ours that was made of this image, while an agent waits."""
    listing = ["docker", "ps", "-q", f"--filter=label=quarterturn.runner={runner()}", f"--filter=ancestor={image}"]

    def deed() -> bool:
        found = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
        if found:
            subprocess.run(["docker", "kill", found[0]], capture_output=True, check=True)
        return bool(found)

    return Saboteur(deed)


# -- relay, gateway, clock --------------------------------------------------------------------------------------------


@BOTH
def test_a_relay_that_dies_is_nobodys_and_played_again(which, request, tmp_path):
    made = request.getfixturevalue(which)
    agent = an_agent(tmp_path / "ada", LOOK + WAIT + ADD)
    with killing(b"/relay.py") if which == "box" else killing_container(RELAY_IMAGE):
        outcome = run(SQLITE, agent, made)
    assert told(outcome) == (["unclear: relay-lost", "None: finished"], True)


def test_a_gateway_that_is_killed_is_nobodys_and_played_again(box, tmp_path, nothing_left):
    NURSERY.warm()

    def deed() -> bool:
        nursery = NURSERY._process
        children = Path(f"/proc/{nursery.pid}/task/{nursery.pid}/children").read_text().split() if nursery else []
        if children:
            os.kill(int(children[0]), signal.SIGKILL)
        return bool(children)

    with Saboteur(deed):
        outcome = run(SQLITE, an_agent(tmp_path / "ada", LOOK + WAIT + ADD), box)
    assert told(outcome) == (["unclear: gateway-lost", "None: finished"], True)
    assert [call.result for call in outcome.earlier[0].transcript.calls], "what it had logged is kept"


def test_an_exception_in_a_gateway_before_any_agent_lives_is_ours(box, tmp_path, nothing_left, monkeypatch):
    def spoiled(*args, **kwargs):
        return replace(specify(*args, **kwargs), faults=[{"no": "fault"}])

    specify = attempt.specify
    monkeypatch.setattr(attempt, "specify", spoiled)
    terms = Terms(patience=Patience(ready=20.0))
    outcome = run(a_task(), an_agent(tmp_path / "ada", RIGHT), box, terms=terms)
    assert told(outcome) == (["ours: gateway-not-ready"] * 3, False)


class Jumping:
    """A monotonic clock that leaps ahead once, as one does when a machine was put to sleep."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def leap(self) -> bool:
        self._ahead = 3600.0
        return True

    def __call__(self) -> float:
        return time.monotonic() + self._ahead


def test_a_clock_that_jumps_over_an_agents_time_is_not_held_against_it(box, tmp_path, nothing_left):
    clock = Jumping()
    with Saboteur(clock.leap):
        outcome = run(SQLITE, an_agent(tmp_path / "ada", LOOK + WAIT + ADD), box, terms=Terms(clock=clock))
    assert told(outcome) == (["unclear: clock-jumped", "None: finished"], True)


def test_the_time_of_day_decides_nothing(box, tmp_path, nothing_left, monkeypatch):
    real, calls = time.time, iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: real() + (-1) ** next(calls) * 86400.0)
    assert told(run(SQLITE, an_agent(tmp_path / "ada", LOOK + ADD), box)) == (["None: finished"], True)


# -- what is replayed -------------------------------------------------------------------------------------------------


def test_a_replay_plays_what_a_server_saw_at_the_pace_at_which_it_saw_it():
    def record(tool, at, **changes):
        values = {"arguments": {"n": at}, "listed": True, "error": False, "injected": False, "result": "", "seconds": 0}
        return CallRecord(tool, **values | changes, at=at)

    calls = (
        record("git.made_up", 1.0, listed=False, refused=True),
        record("git.git_add", 2.0),
        record("git.git_add", 3.0, injected=True),
        record("git.git_add", 4.0, arguments={}, refused=True),
        record("git.git_add", 5.5),
    )
    script = script_of(Transcript(calls, None, "agent-exited"))
    assert [(call.arguments["n"], call.at) for call in script] == [(2.0, 0.0), (5.5, 3.5)]
