"""Tests of runs that stop early: each result stays, unserved tasks are played, and nothing twice."""

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from quarterturn.errors import NotAllowed as NotTaken
from quarterturn.errors import NotFound
from quarterturn.progress import NullProgress
from quarterturn.runs import private_runs
from quarterturn.runs.request import RunRequest
from quarterturn.submissions.store import queue
from quarterturn.submissions.store.queue import TRIES, pause
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.errors import Refused as NotServed
from sandbox.errors import NotAllowed, Unavailable
from sandbox.runs.store import RunState
from verifiers.language.verdict import Verdict

from ..sandbox.builders import Hands, in_memory

pytestmark = pytest.mark.slow

MONTH, NOW = "2026-12", datetime(2026, 12, 5, 10, tzinfo=UTC)


def solve(made):
    """Solve a hand-written task."""
    hands = Hands(made)
    number = hands.get("/task")["goal"].rpartition("-")[2].rstrip(".")
    hands.call("filesystem__create_directory", path=f"/data/files/number-{number}")


@pytest.fixture
def house(playable, clock, monkeypatch, opened):
    house = opened(playable, clock)
    house.auth.accounts.create("ada", "submitter")
    monkeypatch.setattr(private_runs, "require_wall", lambda _box: None)  # there is no box to check
    monkeypatch.setattr(private_runs, "require_smoke_test", lambda *_, **__: None)  # and no program
    return house


@pytest.fixture
def played(house, monkeypatch):
    """Let the jobs of this home be played in memory, and give the box and the agent."""

    def give(story=solve):
        box, agent = in_memory(story)
        monkeypatch.setattr(house.tasks, "box", lambda _name: box)
        monkeypatch.setattr(RunRequest, "submission", lambda *_: (agent, box))
        return box, agent

    return give


class Heard(NullProgress):
    """Records progress messages."""

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def submitted(house):
    submission_request = SubmissionRequest("private", image="ada/agent:1")
    return house.submissions.service.submit("ada", submission_request, idempotency_key=None)[0]


def times(house) -> Counter[int]:
    return Counter(one.times for one in house.benchmark.exposures.servings())


def came_to(house, number=1) -> Counter[str]:
    results = house.runs.store.results(number, who="test", why="test")
    return Counter(f"{one.verdict.value} {one.code}" for one in results)


def after(count, error):
    """Make a way to record results that raises an error after so many."""

    def broken(record):
        left = [count]

        def recorded(run, outcome):
            if not left[0]:
                raise error
            left[0] -= 1
            record(run, outcome)

        return recorded

    return broken


def test_an_interrupted_command_says_how_to_resume_it(house, played, monkeypatch):
    box, agent = played()
    with monkeypatch.context() as broken:
        broken.setattr(house.runs.tasks, "record", after(3, KeyboardInterrupt())(house.runs.tasks.record))
        heard = Heard()
        with pytest.raises(KeyboardInterrupt):
            house.execution.private_runs.play(agent, box, heard)
    assert len(heard.said) == 1
    assert "--resume 1" in heard.said[0]
    assert (house.runs.store.get(1).state, house.runs.store.get(1).cause) == (RunState.RUNNING, "worker-stopped")
    opened, results = house.execution.private_runs.play(agent, box, heard, resume=1)
    assert (opened.record.number, len(results)) == (1, house.benchmark.spec.size)
    assert came_to(house) == {"true finished": house.benchmark.spec.size}
    assert times(house)[1] >= house.benchmark.spec.size - 4, "few were in play, and served again"
    assert house.runs.store.get(1).cause is None


def test_an_internal_error_is_resumed_and_refunds_nobody(house, played, clock, monkeypatch):
    """The task in play has failed: an agent that can provoke our errors would get a second draw otherwise."""
    played()
    made = submitted(house)
    with monkeypatch.context() as broken:
        broken.setattr(house.runs.tasks, "record", after(2, ValueError("a word of a task"))(house.runs.tasks.record))
        house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    waits = house.submissions.store.get(made.id)
    assert (waits.state, waits.charged, house.runs.store.get(1).state) == ("queued", True, RunState.RUNNING)
    clock.now += pause(1)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert house.submissions.store.get(made.id).state == "done"
    assert set(times(house)) == {1}, "nothing is served twice"
    found = came_to(house)
    assert found["true finished"] + found["false worker-lost"] == house.benchmark.spec.size


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_database_that_goes_away_in_the_middle_of_a_run_costs_no_task(house, played, clock, postgres, monkeypatch):
    """The cause of the stop is written once the database is back; without it, the tasks in play would have failed."""
    played()
    made, name, record, waits = submitted(house), house.home.engine.url.database, house.runs.tasks.record, []

    def goes_away(run, outcome):
        if house.runs.store.finished(run.record.number):
            postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            postgres.disconnect(name)
        record(run, outcome)

    def comes_back(seconds):
        waits.append(seconds)
        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    with monkeypatch.context() as broken:
        broken.setattr(house.runs.tasks, "record", goes_away)
        broken.setattr(queue, "time", SimpleNamespace(monotonic=time.monotonic, sleep=comes_back))
        house.execution.job_worker.work(house.submissions.queue.claim("one"), threading.Event())
    job, run = house.submissions.store.get(made.id), house.runs.store.get(1)
    assert (len(waits), job.state, job.failed_attempts, run.cause) == (1, "queued", 0, "machine")
    clock.now += pause(1)
    house.execution.job_worker.work(house.submissions.queue.claim("two"), threading.Event())
    assert house.submissions.store.get(made.id).state == "done"
    assert came_to(house) == {"true finished": house.benchmark.spec.size}


@pytest.mark.full
def test_a_run_that_fails_each_time_is_given_up_charged_and_closed_by_the_turn(house, played, clock, monkeypatch):
    def fails(_run):
        raise ValueError("a word of a task")

    played()
    made = submitted(house)
    with monkeypatch.context() as broken:
        broken.setattr(house.runs.official, "close", fails)
        for attempt in range(1, TRIES + 1):
            assert house.submissions.store.get(made.id).state == "queued"
            house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
            clock.now += pause(attempt)
    given_up = house.submissions.store.get(made.id)
    assert (given_up.state, given_up.code, given_up.charged) == ("failed", "mistake", True)
    house.month.rotation.run(house.benchmark.months.live_month())
    assert house.runs.store.get(1).state is RunState.DONE
    assert came_to(house) == {"true finished": house.benchmark.spec.size}


def test_a_first_error_after_many_restarts_of_workers_does_not_give_a_run_up(house, played, monkeypatch):
    """Restarts by the operator do not count as tries of a run that fails for the first time."""
    made = submitted(house)
    for _ in range(TRIES):
        stopped(house, made, played)
    played()
    monkeypatch.setattr(house.runs.tasks, "record", after(0, ValueError("a word of a task"))(house.runs.tasks.record))
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert house.submissions.store.get(made.id).state == "queued"


def test_a_machine_that_is_away_at_the_turn_leaves_the_rest_unknown_and_no_rank(house, played, monkeypatch):
    played()
    submitted(house)
    with monkeypatch.context() as broken:
        broken.setattr(house.runs.tasks, "record", after(2, Unavailable("away"))(house.runs.tasks.record))
        house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert house.runs.store.get(1).cause == "machine"
    house.month.rotation.run(house.benchmark.months.live_month())
    found = came_to(house)
    assert found["unknown machine"] > 0
    assert found["true finished"] + found["unknown machine"] == house.benchmark.spec.size


def test_cancelling_a_run_that_was_served_something_fails_the_rest_and_costs(house, played):
    """An endpoint sees how well it does during a run: cancelling a bad one would be a second draw."""
    made = None

    def story(agent):
        with suppress(NotTaken):  # the other agent was first
            house.submissions.store.cancel(made.id, "ada")
        agent.hang()

    played(story)
    made = submitted(house)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    gone = house.submissions.store.get(made.id)
    assert (gone.state, gone.charged) == ("cancelled", True)
    assert house.runs.store.get(1).state is RunState.DONE
    found = came_to(house)
    assert set(found) == {"false cancelled", "false worker-lost"}
    assert sum(found.values()) == house.benchmark.spec.size


def test_a_run_that_the_turn_closes_while_it_is_played_is_done(house, played):
    lock = threading.Lock()

    def story(agent):
        if lock.acquire(blocking=False):
            house.runs.official.end_open(house.benchmark.months.live_month(), "turn")
        agent.hang()

    played(story)
    made = submitted(house)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    ended = house.submissions.store.get(made.id)
    assert (ended.state, ended.code, ended.charged) == ("done", None, True)
    assert came_to(house).keys() <= {"false turn", "false worker-lost"}
    house.submissions.view.update()


def test_another_worker_cannot_serve_what_was_taken_over(house, played):
    """A worker that stalls until its lease ends loses its run at the very next task."""
    box, agent = played()
    opened = house.runs.official.open(agent, box)
    taken = house.runs.official.resume(1, agent, box)
    with pytest.raises(NotAllowed, match="attempt 1 was given up"):
        house.runs.tasks.serve(opened, opened.tasks[0])
    house.runs.tasks.serve(taken, taken.tasks[0])


def stopped(house, made, played):
    """Stop the worker as an operator does, once something was served."""
    stopping = threading.Event()

    def story(agent):
        stopping.set()
        agent.hang()

    played(story)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), stopping)
    assert (house.submissions.store.get(made.id).state, house.runs.store.get(1).cause) == ("queued", "worker-stopped")


def test_cancelling_a_waiting_run_ends_it_and_fails_the_rest(house, played):
    """Left open, it would stay off the leaderboard, and be unknown instead of failed when the month turns."""
    made = submitted(house)
    stopped(house, made, played)
    gone = house.submissions.service.cancel(made.id, "ada")
    assert (gone.state, gone.charged, house.runs.store.get(1).state) == ("cancelled", True, RunState.DONE)
    assert came_to(house) == {"false cancelled": house.benchmark.spec.size}
    assert house.submissions.owner_view.of(gone)["figures"]["whole"]["success_rate"]["value"] == 0
    assert [line.run for line in house.runs.leaderboard.of_month(house.benchmark.months.live_month())] == [1]


def test_cancelling_a_run_while_its_worker_is_stopped_fails_the_rest(house, played):
    made, stopping = submitted(house), threading.Event()

    def story(agent):
        with suppress(NotTaken):  # the other agent was first
            house.submissions.store.cancel(made.id, "ada")
        stopping.set()
        agent.hang()

    played(story)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), stopping)
    assert (house.submissions.store.get(made.id).state, house.runs.store.get(1).state) == ("cancelled", RunState.DONE)
    assert came_to(house).keys() <= {"false cancelled", "false worker-lost"}


def test_a_run_cancelled_before_anything_was_served_costs_nothing_and_is_aborted(house, played):
    played()
    made = submitted(house)
    claim = house.submissions.queue.claim("w")
    box, agent = played()
    with house.runs.official.opening(agent, box) as opening:
        assert house.submissions.queue.opened(claim, opening.record.number, opening.session)
    house.submissions.queue.give_back(claim)
    gone = house.submissions.service.cancel(made.id, "ada")
    assert (gone.charged, house.runs.store.get(1).state) == (False, RunState.ABORTED)


def test_a_run_that_the_turn_closed_tells_its_figures_whatever_became_of_its_submission(house, played, clock):
    made = submitted(house)
    stopped(house, made, played)
    house.submissions.queue.finish(house.submissions.queue.claim("w"), "machine")
    house.month.rotation.run(house.benchmark.months.live_month())
    shown = house.submissions.owner_view.of(house.submissions.store.get(made.id))
    assert (shown["state"], shown["charged"]) == ("failed", True)
    assert shown["figures"]["whole"]["unknown"] > 0


@pytest.mark.parametrize(
    ("lack", "unserved"),
    [(NotFound("no such image"), "false turn"), (Unavailable("no engine answers"), "unknown worker-stopped")],
)
def test_a_submitted_image_that_is_gone_when_its_run_is_resumed_fails_the_rest(
    house, played, monkeypatch, lack, unserved
):
    """Otherwise a submitter could remove the image of a run that goes badly, and get an unknown for a fail."""

    def gone(*_):
        raise lack

    made = submitted(house)
    stopped(house, made, played)
    monkeypatch.setattr(RunRequest, "submission", gone)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    house.month.rotation.run(house.benchmark.months.live_month())
    assert came_to(house) == {unserved: house.benchmark.spec.size}


def test_a_submission_that_changed_meanwhile_has_failed(house, played, monkeypatch):
    made = submitted(house)
    stopped(house, made, played)
    box, agent = played()
    other = replace(agent, digest="sha256:" + "0" * 64)
    monkeypatch.setattr(RunRequest, "submission", lambda *_: (other, box))
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    house.month.rotation.run(house.benchmark.months.live_month())
    assert came_to(house) == {"false turn": house.benchmark.spec.size}


def test_runs_that_wait_when_the_month_turns_are_not_played_in_the_next_one(house, played):
    """Otherwise the runs of two months' quotas would be served the tasks of one month."""
    played()
    made = submitted(house)
    house.month.rotation.run(house.benchmark.months.live_month())
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    ended = house.submissions.store.get(made.id)
    assert (ended.state, ended.code, ended.charged) == ("failed", "turn", False)
    assert house.runs.store.list() == ()


def test_a_run_that_a_worker_goes_on_with_is_not_resumed_by_hand(house, played):
    """The command would take the run from its worker, and the task in play would fail."""
    made = submitted(house)
    stopped(house, made, played)
    chosen = RunRequest(image="ada/agent:1", agent=None, submitter="ada", box=None)
    with pytest.raises(NotTaken, match=f"run 1 is that of submission {made.id}, which is queued"):
        house.execution.private_runs.run(chosen, NullProgress(), 1)


def test_a_run_that_has_ended_is_not_resumed(house, played):
    box, agent = played()
    house.execution.private_runs.play(agent, box, NullProgress())
    chosen = RunRequest(image="ada/agent:1", agent=None, submitter="ada", box=None)
    with pytest.raises(NotTaken, match=r"run 1 has ended \(done\)"):
        house.execution.private_runs.run(chosen, NullProgress(), 1)


def test_a_run_is_not_resumed_with_anything_else(house, played):
    """A language model would be an advantage that the leaderboard does not show."""
    box, agent = played()
    box.official, agent = True, replace(agent, kind="image")
    house.runs.official.open(agent, box)
    others = [(replace(agent, submitter="bob"), None), (replace(agent, digest="sha256:" + "0" * 64), None)]
    for other, model in (*others, (agent, "some-model")):
        with pytest.raises(NotServed, match="another submitter, submission, box or track"):
            house.runs.official.resume(1, other, box, model)


def test_an_unreachable_upstream_fails_the_tasks_that_called_it_and_the_rest_waits(house, played, clock, monkeypatch):
    """An agent may be the cause, so nothing is served again; tasks that did not call it lose nothing."""
    played()
    made = submitted(house)
    attempt, first = private_runs.run_set, threading.Lock()

    def down(tasks, submitted, setup, journal):
        record = journal.record_outcome

        def stop_after(outcome):
            lost = first.acquire(blocking=False)
            record(unplayed_of(outcome) if lost else outcome)

        monkeypatch.setattr(journal, "record_outcome", stop_after)
        return attempt(tasks, submitted, setup, journal)

    def unplayed_of(outcome):
        return replace(outcome, verdict=Verdict.FALSE, failure="unclear", code="upstream-down")

    monkeypatch.setattr(private_runs, "run_set", down)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert (house.submissions.store.get(made.id).state, house.runs.store.get(1).cause) == ("queued", None)
    clock.now += pause(1)
    house.execution.job_worker.work(house.submissions.queue.claim("w"), threading.Event())
    assert house.submissions.store.get(made.id).state == "done"
    found = came_to(house)
    assert found["false upstream-down"] == 1
    assert set(found) <= {"true finished", "false upstream-down", "false worker-lost"}
    assert set(times(house)) == {1}
