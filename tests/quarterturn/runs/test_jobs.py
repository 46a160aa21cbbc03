"""Tests of jobs: run under a claim, resumed by the next worker, and ended once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest

from quarterturn.app import Application
from quarterturn.progress import NullProgress
from quarterturn.runs import jobs, private_runs
from quarterturn.runs.request import RunRequest
from quarterturn.submissions.store import queue
from quarterturn.submissions.store.queue import LEASE, Lease, pause
from quarterturn.submissions.store.requests import SubmissionRequest
from sandbox.boxes import box
from sandbox.errors import NotAllowed, Unavailable
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import submission as submissions
from sandbox.runs.store import RunState
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from vault.errors import Unavailable as NoDatabase
from vault.ledger.statements.leaf import Statement
from verifiers.language.verdict import Evidence, Verdict

from ...serving import serve

pytestmark = pytest.mark.slow

AGENT = submissions.command("true", submitter="ada", name="quiet")
NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
MONTH = "2026-12"


class NoWorld:
    """A box in which no world can be made: every verdict is unknown, quickly."""

    name, official = "docker", False

    def check(self):
        pass

    def fits(self, program):
        pass

    def digest(self, reference):
        return "sha256:" + "0" * 64

    def world(self, servers, state, limits):
        raise Unavailable("no world today")


@pytest.fixture
def house(small, clock, monkeypatch):
    house = Application(small, None, clock)
    house.auth.accounts.create("ada", "submitter")
    monkeypatch.setattr(house.tasks, "box", lambda *_: NoWorld())
    monkeypatch.setattr(private_runs, "require_wall", lambda _box: None)  # there is no box to check
    monkeypatch.setattr(private_runs, "require_smoke_test", lambda *_, **__: None)  # and no program
    yield house
    house.close()


def last(house) -> Statement:
    return Statement.parse(house.log.ledger.leaf(house.log.ledger.size - 1))


def kinds(house) -> list[str]:
    return [Statement.parse(house.log.ledger.leaf(index)).kind for index in range(house.log.ledger.size)]


def submit(house, tasks="private"):
    return house.submissions.service.submit("ada", SubmissionRequest(tasks, image="agent:1"), idempotency_key=None)[0]


class After:
    """Gives one value at first and another one later."""

    def __init__(self, looks, then):
        self.looks, self.then = looks, then

    def __call__(self):
        self.looks -= 1
        return "held" if self.looks >= 0 else self.then


class OneLook(Lease):
    """A lease of no job, with one status."""

    def __init__(self, status):
        self.status = lambda: status

    def record_run(self, run, session):
        assert run.state is RunState.QUEUED


def test_a_lost_run_is_left_as_it_is_and_resumed(house):
    with pytest.raises(NotAllowed):
        house.execution.private_runs.play(AGENT, NoWorld(), NullProgress(), lease=OneLook("lost"))
    (number,) = [run.number for run in house.runs.store.list(month=MONTH)]
    assert house.runs.store.get(number).state is RunState.RUNNING
    before = house.runs.store.finished(number)
    opened, results = house.execution.private_runs.play(AGENT, NoWorld(), NullProgress(), resume=number)
    assert (opened.record.number, opened.attempt, opened.done) == (number, 2, before)
    assert len(results) == house.benchmark.spec.size
    assert house.runs.store.get(number).state is RunState.DONE
    assert kinds(house).count("run-open") == 1


def outcome(task) -> TaskRun:
    found = Evidence("all", Verdict.FALSE)
    return TaskRun(task.id, task.category, task.max_steps, Verdict.FALSE, found, Transcript((), None, "answered"))


def test_a_run_whose_program_ended_with_an_error_in_every_task_has_failed_and_is_charged(house):
    submission = submit(house)
    claim = house.submissions.queue.claim("w")
    with house.runs.official.opening(AGENT, NoWorld()) as opening:
        assert house.submissions.queue.opened(claim, opening.record.number, opening.session)
    opened = opening.run
    for task in serve(house.runs.tasks, opened):
        house.runs.tasks.record(opened, replace(outcome(task), code="agent-crashed", exit_code=1))
    house.runs.official.close(opened)
    assert house.runs.store.get(opened.record.number).code == "agent-crashed"
    house.execution.job_worker.work(claim, threading.Event())
    ended = house.submissions.store.get(submission.id)
    assert (ended.state, ended.code, ended.charged) == ("failed", "agent-crashed", True)
    shown = house.submissions.owner_view.of(ended)
    assert shown["failure"]["hint"].startswith("Its program ended with an error")
    assert shown["figures"] is not None


def left_of(task, text=b"first") -> UnjudgedResult:
    facts = AttemptFacts(Stage.FROZEN, ended="answered", world=box.ExitFacts(running=True))
    return UnjudgedResult(task.id, FrozenState(text), facts, Transcript((), "42", "answered"))


def test_tasks_played_and_not_judged_are_sealed_and_not_served_again(house):
    opened = house.runs.official.open(AGENT, NoWorld())
    number, tasks = opened.record.number, [planned.task for planned in house.runs.tasks.prepare(opened)]
    house.runs.tasks.serve(opened, tasks[0].id, tasks[1].id)
    house.runs.tasks.seal(opened, left_of(tasks[0]))
    house.runs.tasks.seal(opened, left_of(tasks[0], b"second"))
    house.runs.tasks.seal(opened, left_of(tasks[1]))
    house.runs.tasks.record(opened, outcome(tasks[1]))
    taken = house.runs.official.resume(number, AGENT, NoWorld())
    assert taken.sealed == {tasks[0].id}
    assert [task.id for task in serve(house.runs.tasks, taken)] == [task.id for task in (tasks[0], *tasks[2:])]
    assert {serving.times for serving in house.benchmark.exposures.servings()} == {1}
    assert {p.task.id: p.left.state.tar for p in house.runs.tasks.prepare(taken) if p.left} == {tasks[0].id: b"second"}
    with pytest.raises(NotAllowed, match="attempt"):
        house.runs.tasks.seal(opened, left_of(tasks[2]))
    house.runs.tasks.record(taken, outcome(tasks[0]))
    assert not house.runs.store.left(number), "with its result there, nothing waits to be judged"
    house.runs.tasks.seal(taken, left_of(tasks[2]))
    house.runs.official.end(number, "turn")
    assert not house.runs.store.left(number)


def test_a_run_that_its_owner_cancelled_is_aborted_in_public(house):
    with pytest.raises(NotAllowed):
        house.execution.private_runs.play(AGENT, NoWorld(), NullProgress(), lease=OneLook("cancelled"))
    assert (last(house).kind, last(house).predicate["reason"]) == ("abort", "cancelled")


@pytest.mark.both_databases
def test_a_claim_that_is_lost_at_the_start_opens_no_run(house):
    made, size = submit(house), house.log.ledger.size
    claim = house.submissions.queue.claim("one")
    assert house.submissions.queue.give_back(claim)
    lease = Lease(house.submissions.queue, claim, threading.Event())
    with pytest.raises(RuntimeError, match="lost"):
        house.execution.private_runs.play(AGENT, NoWorld(), NullProgress(), lease=lease)
    assert (house.log.ledger.size, house.runs.store.list(month=MONTH)) == (size, ())
    assert (house.benchmark.exposures.servings(), house.submissions.store.get(made.id).run) == ([], None)


def die(*_args, **_how):
    os.kill(os.getpid(), signal.SIGKILL)


DYING = {
    "before the run is committed": lambda house: (house.log.ledger, "record"),
    "before its opening is published": lambda house: (house.log.ledger, "publish"),
    "before it is started": lambda house: (house.runs.store, "start"),
    "before its tasks are opened": lambda house: (house.runs.tasks, "prepare"),
    "before it is closed": lambda house: (house.runs.official, "close"),
    "before its end is written": lambda house: (house.submissions.queue, "finish"),
}
"""Where a worker is killed: the object and the name of what it never comes back from."""
OF_ROWS = ("before the run is committed", "before its end is written")
"""Those after which the other database may have kept something else."""


@pytest.mark.parametrize(
    ("backend", "step"),
    [*(("sqlite", step) for step in DYING), *(("postgresql", step) for step in OF_ROWS)],
    indirect=["backend"],
)
def test_a_worker_that_is_killed_anywhere_leaves_a_run_that_the_next_one_goes_on_with(house, clock, monkeypatch, step):
    made = submit(house)
    house.home.engine.dispose()
    if (child := os.fork()) == 0:
        own = Application(house.home.folder, None, clock)
        own.tasks.box = house.tasks.box
        claim = own.submissions.queue.claim("one")
        place, name = DYING[step](own)
        setattr(place, name, die)
        own.execution.job_worker.work(claim, threading.Event())
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    clock.now += LEASE + timedelta(seconds=1)
    assert house.submissions.queue.reap() == 1
    house.execution.job_worker.work(house.submissions.queue.claim("two"), threading.Event())
    ended = house.submissions.store.get(made.id)
    (run,) = house.runs.store.list(month=MONTH)
    assert (ended.state, ended.run, run.state) == ("done", run.number, RunState.DONE)
    said = Counter(kinds(house))
    assert (said["run-open"], said["score"], said["abort"]) == (1, 1, 0)
    assert house.log.ledger.published.size == house.log.ledger.size
    assert house.submissions.owner_view.of(ended)["figures"]["whole"]["attempted"] == house.benchmark.spec.size
    assert (house.home.places.view / "board" / f"{MONTH}.json").exists()


@pytest.mark.parametrize(("place", "name"), [("log.ledger", "publish"), ("runs.official", "close")])
def test_a_run_that_the_database_failed_is_given_back_and_resumed(house, clock, monkeypatch, place, name):
    made = submit(house)

    def gone(*_args, **_how):
        raise NoDatabase("The database does not answer.")

    with monkeypatch.context() as broken:
        broken.setattr(attrgetter(place)(house), name, gone)
        house.execution.job_worker.work(house.submissions.queue.claim("one"), threading.Event())
    waits = house.submissions.store.get(made.id)
    assert (waits.state, waits.attempt) == ("queued", 1)
    clock.now += pause(1)
    house.execution.job_worker.work(house.submissions.queue.claim("two"), threading.Event())
    assert house.submissions.store.get(made.id).state == "done"
    (run,) = house.runs.store.list(month=MONTH)
    assert run.state is RunState.DONE


def test_while_the_database_is_gone_nobody_says_that_a_job_was_lost(house, monkeypatch):
    submit(house)
    lease = Lease(house.submissions.queue, house.submissions.queue.claim("w"), threading.Event())

    def gone(*_args):
        raise NoDatabase("The database does not answer.")

    monkeypatch.setattr(house.submissions.store, "get", gone)
    assert lease.status() == "held"


def test_a_worker_that_stops_gives_its_job_back_and_the_next_one_ends_it(house):
    made, stopping = submit(house), threading.Event()
    stopping.set()
    house.execution.job_worker.work(house.submissions.queue.claim("w"), stopping)
    waits = house.submissions.store.get(made.id)
    assert (waits.state, waits.attempt) == ("queued", 1)
    assert house.runs.store.get(waits.run).state is RunState.RUNNING
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    ended = house.submissions.store.get(made.id)
    assert (ended.state, ended.run) == ("done", waits.run)
    assert [run.number for run in house.runs.store.list(month=MONTH)] == [ended.run]


def test_a_job_that_breaks_off_while_its_worker_stops_is_given_back(house, monkeypatch):
    made, stopping = submit(house, "check"), threading.Event()

    def stopped(*_):
        stopping.set()
        raise NotAllowed("the run was stopped")

    monkeypatch.setattr(RunRequest, "of", stopped)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), stopping)
    waits = house.submissions.store.get(made.id)
    assert (waits.state, waits.code) == ("queued", None)


def test_a_score_that_could_not_be_published_is_published_by_the_next_attempt(house, clock, monkeypatch):
    made, publish, answers = submit(house), house.log.ledger.publish, iter([True, True, False])

    def now_and_then():
        if next(answers, True):
            return publish()
        raise NoDatabase("too few witnesses are there")

    monkeypatch.setattr(house.log.ledger, "publish", now_and_then)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    waits = house.submissions.store.get(made.id)
    assert (waits.state, house.runs.store.get(waits.run).state) == ("queued", RunState.DONE)
    score = house.log.ledger.find(f"score/{waits.run}")
    assert score >= house.log.ledger.published.size
    clock.now += pause(1)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert (house.submissions.store.get(made.id).state, score < house.log.ledger.published.size) == ("done", True)


def test_a_worker_that_comes_back_from_the_dead_ends_nothing(house, clock):
    made = submit(house)
    dead = house.submissions.queue.claim("one")
    clock.now += LEASE + timedelta(seconds=1)
    house.submissions.queue.reap()
    alive = house.submissions.queue.claim("two")
    house.execution.job_worker.work(dead, threading.Event())
    assert house.submissions.store.get(made.id).state == "running"
    house.execution.job_worker.work(alive, threading.Event())
    ended = house.submissions.store.get(made.id)
    assert ended.state == "done"
    states = [run.state for run in house.runs.store.list(month=MONTH)]
    assert states.count(RunState.DONE) == 1


def test_a_turn_before_anything_was_served_is_said_and_refunded(house):
    made = submit(house)
    claim = house.submissions.queue.claim("w")
    opened = house.runs.official.open(AGENT, NoWorld())
    house.submissions.queue.opened(claim, opened.record.number)
    house.runs.official.end(opened.record.number, "turn")
    house.execution.job_worker.work(claim, threading.Event())
    ended = house.submissions.store.get(made.id)
    assert (ended.state, ended.code, ended.charged) == ("failed", "turn", False)


def test_a_job_that_this_machine_cannot_run_is_set_aside_and_ends_with_a_code_and_no_text(
    house, clock, monkeypatch, caplog
):
    def fails(*_):
        raise Unavailable("a word of a task")

    monkeypatch.setattr(house.tasks, "box", fails)
    made = submit(house)
    for attempt in range(1, jobs.MAX_MACHINE_ATTEMPTS):
        house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
        waits = house.submissions.store.get(made.id)
        assert (waits.state, house.submissions.owner_view.waits(waits)) == ("queued", "again")
        clock.now += pause(attempt)
    assert "word" not in caplog.text
    assert caplog.text.count(f"{made.id} waits; next try") == jobs.MAX_MACHINE_ATTEMPTS - 1
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    shown = house.submissions.owner_view.of(house.submissions.store.get(made.id))
    assert (shown["state"], shown["failure"]["code"], shown["charged"]) == ("failed", "machine", False)
    assert "word" not in repr(shown)


def test_a_job_cancelled_before_its_run_was_opened_opens_none(house):
    made = submit(house)
    claim = house.submissions.queue.claim("w")
    house.submissions.store.cancel(made.id, "ada")
    house.execution.job_worker.work(claim, threading.Event())
    assert house.submissions.store.get(made.id).state == "cancelled"
    assert house.runs.store.list(month=MONTH) == ()


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "count"), [("check", 1)])
def test_a_job_on_the_dev_set_is_played_for_real_and_tells_everything(house, monkeypatch, caplog, tasks, count):
    caplog.set_level("INFO", "quarterturn.runs")
    agent = Path(__file__).resolve().parents[3] / "examples" / "agents" / "rulebook" / "agent.py"
    chosen = RunRequest(image=None, agent=f"python3 {agent}", submitter="ada", box="bwrap")
    monkeypatch.setattr(RunRequest, "of", lambda *_: chosen)  # over HTTP an image is named, which needs an engine
    made = submit(house, tasks)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert house.submissions.store.get(made.id).state == "done"
    trace = house.submissions.traces.own(made.id, "ada")["trace"]
    assert len(trace["tasks"]) == count
    assert trace["tasks"][0]["task"]["goal"]
    assert trace["tasks"][0]["run"]["transcript"]
    lines = [vars(line) | {"act": line.getMessage()} for line in caplog.records if line.name == "quarterturn.runs"]
    assert [line["act"] for line in lines] == ["claim", "start", "serving", "hand-in", "end"]
    assert {line["submission"] for line in lines} == {made.id}
    assert [(line["serving"], line.get("seconds", 0) >= 0) for line in lines[2:4]] == [(1, True)] * 2
    assert (lines[0]["waited_seconds"], lines[-1]["outcome"]) == (0, "done")
    assert trace["tasks"][0]["task"]["id"] not in str(lines)


@pytest.mark.parametrize(
    ("moment", "waited"), [((0, 99), 0), ((57.5, 99), 2.5), ((30, 3), 3), ((30, 0), 0)]
)  # seconds past the full minute and looks at the lease until it is lost; seconds waited
def test_a_private_run_is_closed_on_a_full_minute_or_once_it_is_no_longer_this_workers(
    moment, waited, house, clock, monkeypatch
):
    second, held = moment
    passed, closed = [0.0], []
    fake = SimpleNamespace(
        monotonic=lambda: passed[0], sleep=lambda seconds: passed.append(passed.pop() + seconds), time=time.time
    )
    monkeypatch.setattr(queue, "CLOSING_GRID_SECONDS", 60.0)
    monkeypatch.setattr(queue, "time", fake)
    clock.now += timedelta(seconds=second)
    looks = After(held, "lost")
    monkeypatch.setattr(Lease, "status", lambda _: looks() if closing else "held")
    closing, wait = [], Lease.wait_to_close

    def waits(lease):
        closing.append(True)
        wait(lease)
        closed.append(passed[0])
        closing.clear()

    monkeypatch.setattr(Lease, "wait_to_close", waits)
    submit(house)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert closed == [pytest.approx(waited)]
    assert last(house).kind == "score"
