"""Tests of servings that supervisors of this machine play for a process that has keys."""

from __future__ import annotations

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost, Malformed
from sandbox.isolation.forkserver import ForkServer
from sandbox.judge.process import READERS, Started
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.runs.attempt import serving_of
from sandbox.runs.job import Job, PlannedTask, RunSetup
from sandbox.runs.run import run_set
from sandbox.servings.handed_in import HandIn
from sandbox.servings.supervised_player import SupervisedPlayer, supervisors_of
from sandbox.servings.supervisor import ALONE, ERROR, GO, HAND_IN, OVER, SHARED, Supervisors, memory_file

from ...patience import PATIENCE, until
from .. import builders
from ..builders import RIGHT, a_task, an_agent
from ..processes import below, holds, is_running, parent

SLEEP = "call('filesystem__list_directory', path='/data/files')\ntime.sleep(600)"
LEFT = HandIn(AttemptFacts(Stage.GATEWAY), output="what it printed")
RUNNER_LOST = AttemptFacts(Stage.SERVED, runner_lost=True)


# ---- supervisors that the test plays ----


class StandIn(Supervisors):
    """Warm parent whose supervisors are played by the test, over its ends of their sockets."""

    def __init__(self) -> None:
        super().__init__()
        self.channels = []

    def open(self, serving, *model_link):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.settimeout(PATIENCE)
        self.channels.append(theirs)
        return ours

    def warm(self):
        """Start nothing."""


class NoBox(BwrapBox):
    """Box that is neither made nor checked."""


class Playing:
    """A serving that is being played in a thread."""

    def __init__(self, pool, player, folder) -> None:
        setup = RunSetup.in_box(builders.in_memory()[0])
        job = Job(PlannedTask(a_task()), an_agent(folder / "ada", RIGHT), setup, "r-1")
        self.stop, self.records = threading.Event(), []
        self.prepared = player.prepare(serving_of(job, "s-" + "1" * 32))
        self.channel = player.supervisors.channels[-1]
        self.result = pool.submit(self.prepared.play, lambda: self.records.append("served"), self.stop)

    def ask(self, turn):
        """Ask for a turn and return what is answered."""
        self.channel.send(turn)
        return self.channel.recv(1)

    def hand_in(self, data):
        """Hand in a document."""
        with memory_file(data) as file:
            socket.send_fds(self.channel, [HAND_IN], [file])
        return self.result.result(PATIENCE)


@pytest.fixture
def play(tmp_path):
    """Return what begins to play a serving; all are of one run of two workers."""
    player = SupervisedPlayer(NoBox(), StandIn(), workers=2)
    with ThreadPoolExecutor(4) as pool:
        playing = []

        def begin():
            playing.append(Playing(pool, player, tmp_path))
            return playing[-1]

        yield begin
        for serving in playing:
            serving.channel.close()
            serving.prepared.close()


def test_a_serving_is_recorded_before_its_supervisor_is_told_to_let_the_agent_go(play):
    serving = play()
    assert serving.records == []
    assert serving.ask(SHARED) == GO
    assert serving.records == ["served"]
    serving.channel.send(OVER)
    assert serving.hand_in(LEFT.to_bytes()) == LEFT


def test_whoever_checks_the_machinery_waits_until_no_agent_of_the_run_is_at_work(play):
    agent, checker = play(), play()
    assert agent.ask(SHARED) == checker.ask(SHARED) == GO
    checker.channel.send(OVER)
    checker.channel.send(ALONE)
    until(lambda: checker.prepared._player.turns.awaited, "somebody who waits to be alone")
    checker.channel.setblocking(False)
    with pytest.raises(BlockingIOError):
        checker.channel.recv(1)
    agent.channel.send(OVER)
    checker.channel.settimeout(PATIENCE)
    assert checker.channel.recv(1) == GO


def test_a_supervisor_that_dies_costs_a_serving_only_where_its_agent_was_at_work(play):
    early, late = play(), play()
    early.channel.close()
    assert early.result.result(PATIENCE) == HandIn(AttemptFacts(Stage.NOTHING))
    assert late.ask(SHARED) == GO
    late.channel.close()
    assert late.result.result(PATIENCE).facts == RUNNER_LOST
    assert (early.records, late.records) == ([], ["served"])


def test_a_supervisor_that_dies_while_it_waits_for_its_turn_is_served_nothing(play):
    first, second, third = play(), play(), play()
    assert first.ask(SHARED) == second.ask(SHARED) == GO
    third.channel.send(SHARED)
    third.channel.close()
    first.channel.send(OVER)
    assert third.result.result(PATIENCE) == HandIn(AttemptFacts(Stage.NOTHING))
    assert third.records == []


@pytest.mark.parametrize("data", [b"", b"{}\n", LEFT.to_bytes()[:-1]])
def test_what_is_no_hand_in_is_as_good_as_nothing(play, data):
    serving = play()
    assert serving.ask(SHARED) == GO
    assert serving.hand_in(data).facts == RUNNER_LOST


def test_what_a_supervisor_cannot_make_ready_is_raised_as_here(play):
    serving = play()
    serving.channel.send(ERROR + b"Malformed:the initial state of git has no commit")
    with pytest.raises(Malformed, match="the initial state of git has no commit"):
        serving.result.result(PATIENCE)


def test_a_run_that_is_given_up_waits_for_no_hand_in(play):
    serving = play()
    assert serving.ask(SHARED) == GO
    serving.stop.set()
    with pytest.raises(Lost, match="interrupted"):
        serving.result.result(PATIENCE)


# ---- in a real box ----


@pytest.fixture(scope="module")
def box():
    return BwrapBox()


def children(pid):
    """Return the command lines of a process's own children; those of bwrap have `--args`."""
    with suppress(OSError):
        words = [
            number for task in Path(f"/proc/{pid}/task").iterdir() for number in (task / "children").read_text().split()
        ]
        lines = below(pid)
        return {int(number): lines[int(number)] for number in words if int(number) in lines}
    return {}


def supervisors_below(box):
    """Return the processes that play for this one: children of its warm parent which are no fork servers."""
    lines = children(supervisors_of(box.recipe)._process.pid).items()
    return [pid for pid, line in lines if "sandbox.servings" in line]


@pytest.mark.box
def test_a_set_is_played_and_no_world_and_no_agent_is_a_child_of_this_process(tmp_path, box):
    setup, seen = RunSetup.supervised(box, workers=2), []
    agent = an_agent(tmp_path / "ada", RIGHT)

    class Journal(builders.RunJournal):
        def record_serving(self, task_id, handle):
            theirs = [line for pid in supervisors_below(box) for line in below(pid).values()]
            seen.append([any("--args" in line for line in lines) for lines in (children(os.getpid()).values(), theirs)])

    runs = run_set([PlannedTask(a_task(number=n)) for n in (2, 3, 4)], agent, setup, Journal())
    assert [(run.passed, run.transcript.answer) for run in runs] == [(True, "2")] * 3
    assert seen == [[False, True]] * 3
    assert not any("--args" in line for line in below(os.getpid()).values())


@pytest.mark.box
def test_the_agent_ends_with_the_run_that_is_given_up_and_with_a_killed_supervisor(tmp_path, box):
    agent, setup = an_agent(tmp_path / "ada", SLEEP), RunSetup.supervised(box, workers=1)

    def world():
        return [pid for pid, line in below(setup.player.supervisors._process.pid).items() if "--args" in line]

    class GivenUp(builders.RunJournal):
        def is_ended(self):
            return bool(world())

    with pytest.raises(builders.runs.NotAllowed):
        run_set([PlannedTask(a_task())], agent, setup, GivenUp())
    assert world() == []

    class Killed(builders.RunJournal):
        def record_serving(self, task_id, handle):
            for pid in supervisors_below(box):
                os.kill(pid, signal.SIGKILL)

    (run,) = run_set([PlannedTask(a_task())], agent, setup, Killed())
    assert (run.code, run.failure, run.attempts) == ("runner-lost", "unclear", 1)
    until(lambda: world() == [], "the end of what the killed supervisor had started")


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("root")
def test_no_key_no_predicate_and_no_task_id_is_in_the_memory_of_what_plays(tmp_path, box, dice, monkeypatch):
    wanted = f"the-{dice.getrandbits(64):016x}-of-margarethe"
    task = a_task(success_predicate={"filesystem.fileTextEquals": {"path": "colour.txt", "text": wanted}})
    canary = f"test-{dice.getrandbits(128):032x}"
    monkeypatch.setenv("QUARTERTURN_PASSPHRASE", canary)
    setup, found = RunSetup.supervised(box, workers=1), []

    class Journal(builders.RunJournal):
        def record_serving(self, task_id, handle):
            goal, secrets = task.goal.encode(), [canary.encode(), wanted.encode(), task.id.encode()]
            (supervisor,) = supervisors_below(box)
            found.append((holds(supervisor, *secrets, goal), holds(parent(supervisor), *secrets, goal)))

    run_set([PlannedTask(task)], an_agent(tmp_path / "ada", RIGHT), setup, Journal())
    assert found == [([task.goal.encode()], [])]
    assert is_running(setup.player.supervisors._process.pid)


@pytest.mark.engine
def test_the_process_that_has_servings_played_holds_no_connection_to_the_engine(tmp_path):
    box, agent, seen = DockerBox(), an_agent(tmp_path / "ada", RIGHT), []
    box.check()

    class Journal(builders.RunJournal):
        def record_serving(self, task_id, handle):
            seen.append(connections(box._engine.address))

    (run,) = run_set([PlannedTask(a_task())], agent, RunSetup.supervised(box, workers=1), Journal())
    assert run.passed
    assert seen == [[]]
    box.check()
    assert connections(box._engine.address)


def connections(address):
    """Return this process's sockets that are connected to a Unix socket."""
    sockets = []
    for entry in Path("/proc/self/fd").iterdir():
        descriptor = int(entry.name)
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as candidate:
            if candidate.family == socket.AF_UNIX and f"unix://{candidate.getpeername()}" == address:
                sockets.append(descriptor)
    return sockets


def test_who_uses_the_fork_server_of_another_process_starts_its_own_where_that_has_ended():
    theirs, ours = ForkServer(*READERS), ForkServer(*READERS)
    ours.adopt(os.dup(theirs.share()))
    assert Started(ours).waits()
    assert ours.pid is None
    theirs.close()
    assert Started(ours).waits()
    assert ours.pid is not None
    ours.close()
