"""Tests of runs whose process is killed between two of its records: the next one goes on as if nothing had happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from sqlmodel import Session, col, delete, update

from quarterturn.app import Application
from quarterturn.errors import NotAllowed, NotFound
from quarterturn.progress import NullProgress
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runners.tables import ServingRow
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.settings import RunSettings
from rotation.runs.run_tasks import RunTasks
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.outcome import TaskRun
from sandbox.runs import submission
from sandbox.servings.handed_in import HandIn
from sandbox.servings.sealing import seal_hand_in

from ...patience import PATIENCE, until

FAILED = HandIn(AttemptFacts(Stage.SERVED))
UNBEGUN = HandIn(AttemptFacts(Stage.GATEWAY))


class Killed(BaseException):
    """Stands for the end of a process: nothing behind it is written."""


@pytest.fixture
def house(small) -> Iterator[Application]:
    with closing(Application(small, None)) as house:
        house.home.settings = house.home.settings.model_copy(update={"run": RunSettings(runners=("open",), workers=1)})
        yield house


class InstantRunner:
    """A runner in a thread of this process that plays nothing, and hands in what `answer` makes of each number."""

    def __init__(self, house: Application, answer: Callable[[int], HandIn]) -> None:
        self.house, self.fleet, self.answer, self.served = house, house.runners.fleet, answer, 0
        caller = house.auth.accounts.caller(self.fleet.runners.add("north", 90))
        assert caller is not None
        self.token, self.stop = caller.token, threading.Event()
        self.fleet.runners.register(self.token, box="bwrap", run_class="open", places=1, programs="0" * 64)
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        while not self.stop.is_set():
            until(self.has_played_or_ends, "a serving, or the end")

    def has_played_or_ends(self) -> bool:
        runner = self.fleet.runners.record_contact(self.token)
        offer = self.fleet.dispatcher.take(runner) if runner else None
        if offer is not None:
            with suppress(NotFound, NotAllowed):  # its run was killed
                self.play(offer.handle)
        return offer is not None or self.stop.is_set()

    def play(self, handle: str) -> None:
        start = self.house.runners.service.start
        until(lambda: start(self.token, handle) is not None or self.stop.is_set(), "a key, or the end")
        sealed = seal_hand_in(handle, self.answer(self.served), self.fleet.key.public)
        self.served += 1

        async def content():
            yield sealed

        asyncio.run(self.house.runners.service.receive(self.token, handle, content()))


@contextmanager
def playing_on(house: Application, answer: Callable[[int], HandIn]) -> Iterator[InstantRunner]:
    runner = InstantRunner(house, answer)
    runner.thread.start()
    try:
        yield runner
    finally:
        runner.stop.set()
        runner.thread.join(PATIENCE)


def die(*_: object) -> None:
    raise Killed


class Held:
    """A lease that is never lost."""

    def __init__(self) -> None:
        self.run = 0

    def status(self) -> str:
        return "held"

    def record_run(self, run, session) -> None:
        self.run = run.number

    def wait_to_close(self) -> None:
        """Close at once."""


def play(house: Application, lease: Held, resume: int | None = None):
    submitted, box = submission.command("true", submitter="ada"), RunnerBox(house.runners.store, "open")
    _, results = house.execution.private_runs.play(submitted, box, NullProgress(), lease=lease, resume=resume)
    return results


def test_a_process_that_dies_before_it_records_why_a_task_is_served_again_costs_no_fail(house, monkeypatch):
    lease = Held()
    with playing_on(house, lambda number: FAILED if number else UNBEGUN) as runner:
        monkeypatch.setattr(RunTasks, "again", die)
        monkeypatch.setattr(PrivateRuns, "_after_stop", lambda *_: None)
        with pytest.raises(Killed):
            play(house, lease)
        monkeypatch.undo()
        results = play(house, lease, resume=lease.run)
    served = house.benchmark.exposures.of_run(lease.run)
    outcomes = house.runs.store.results(lease.run, who="test", why="test")
    assert {outcome.code for outcome in outcomes} == {"agent-not-started"}, "each task was played, none is lost"
    assert runner.served > len(results)
    assert max(servings.times for servings in served.values()) == 2
    assert not house.runners.fleet.handed_in.handles()


def test_revoking_a_runner_lists_what_it_was_served_and_which_results_came_of_that(house):
    with playing_on(house, lambda number: FAILED if number else UNBEGUN):
        results = play(house, lease := Held())
    played = house.runners.service.revoke("north")
    assert len(played) == len(results) + 1
    assert [entry.gave_result for entry in played].count(False) == 1, "the first serving of a task served twice"
    assert {entry.task for entry in played if entry.gave_result} == {result.task for result in results}
    assert {entry.run for entry in played} == {lease.run}
    assert not any(entry.sealed_as for entry in played)


def test_rows_that_were_changed_hide_no_result_of_a_revoked_runner(house):
    with playing_on(house, lambda _: FAILED):
        results = play(house, lease := Held())
    house.auth.accounts.caller(house.runners.store.add("south", 90))
    tokens = {token.account: token.id for token in house.auth.accounts.list()}
    gone, moved, *_ = (result.task for result in results)
    with Session(house.home.engine) as session:
        session.exec(delete(ServingRow).where(col(ServingRow.task) == gone))
        session.exec(update(ServingRow).where(col(ServingRow.task) == moved).values(runner=tokens["south"]))
        session.commit()
    of_north = house.runners.service.revoke("north")
    assert {entry.task for entry in of_north if entry.gave_result} == {result.task for result in results}
    assert {entry.task for entry in of_north if entry.serving is None} == {gone, moved}
    (of_south,) = house.runners.service.revoke("south")
    assert (of_south.run, of_south.task) == (lease.run, moved)
    assert (of_south.gave_result, of_south.sealed_as) == (False, "north")


def test_results_that_an_earlier_version_sealed_are_listed_by_their_rows(house, monkeypatch):
    monkeypatch.setattr(TaskRun, "to_sealed_json", TaskRun.as_json)
    with playing_on(house, lambda _: FAILED):
        results = play(house, lease := Held())
    assert {run.played_by for run in house.runs.store.results(lease.run, who="test", why="test")} == {""}
    played = house.runners.service.revoke("north")
    assert {entry.task for entry in played if entry.gave_result} == {result.task for result in results}
