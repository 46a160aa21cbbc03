"""Tests of worker threads on both databases: each job is taken once, and an error ends no worker."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol

import pytest

from quarterturn.app import Application
from quarterturn.runs.jobs import Work, WorkerThreads
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from vault.errors import Unavailable

from ...patience import PATIENCE, until

pytestmark = [pytest.mark.both_databases, pytest.mark.slow]

REQUEST = SubmissionRequest("dev", image="agent:1")


class Workers(Protocol):
    """Makes worker threads on the database that the test runs on."""

    def __call__(self, count: int, work: Work = ...) -> WorkerThreads: ...


@pytest.fixture
def house(home):
    house = Application(home, None)
    house.home.settings = house.home.settings.model_copy(
        update={"service": ServiceSettings(images=("",), at_once=16, waiting=1000, dev_per_day=1000)}
    )
    house.submissions.store = Submissions(
        house.home.engine, house.benchmark.exposures, house.home.settings.service, house.home.now
    )
    for name in ("ada", "bob"):
        house.auth.accounts.create(name, "submitter")
    yield house
    house.close()


@pytest.fixture
def workers(house) -> Iterator[Workers]:
    made = []

    def make(count=1, work=None):
        made.append(WorkerThreads(house.submissions.queue, work or house.execution.job_worker.work, count))
        return made[-1]

    yield make
    for executor in made:
        executor.stop()


def submit(house, executor, account="ada"):
    record, _ = house.submissions.service.submit(account, REQUEST, idempotency_key=None)
    executor.wake()
    return record


def waits_in(thread: threading.Thread, name: str) -> bool:
    """Return whether a thread is inside a function of this name."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None


def test_a_job_is_taken_once_it_is_there(house, workers):
    done: Counter[int] = Counter()

    def work(claim, _stopping):
        done[claim.number] += 1
        house.submissions.queue.finish(claim, None)

    executor = workers(2, work)
    executor.start()
    made = [submit(house, executor).number for _ in range(10)]
    until(lambda: not house.submissions.store.unfinished(), "the end of all jobs")
    executor.stop()
    assert done == dict.fromkeys(made, 1)


def test_a_job_that_fails_ends_no_worker(house, workers, caplog, monkeypatch):
    monkeypatch.setattr("quarterturn.submissions.store.queue.LEASE", timedelta(hours=1))

    def work(claim, _stopping):
        if claim.number == 1:
            raise ValueError("a word of a task")
        house.submissions.queue.finish(claim, None)

    executor = workers(1, work)
    executor.start()
    first, second = submit(house, executor), submit(house, executor)
    until(lambda: house.submissions.store.get(second.id).state == "done", "the end of the second job")
    executor.stop()
    assert house.submissions.store.get(first.id).state == "running", "its lease will end"
    assert "ValueError" in caplog.text
    assert "word" not in caplog.text


def test_without_workers_jobs_are_only_taken_in(house, workers):
    executor = workers(0)
    executor.start()
    made = submit(house, executor)
    executor.stop()
    assert house.submissions.store.get(made.id).state == "queued"


def test_stopping_waits_for_what_is_played_and_takes_nothing_more(house, workers):
    begun, released = threading.Event(), threading.Event()

    def work(claim, stopping):
        begun.set()
        assert stopping.wait(PATIENCE)
        assert released.wait(PATIENCE)
        house.submissions.queue.give_back(claim)

    executor = workers(1, work)
    first, second = submit(house, executor), submit(house, executor, "bob")
    executor.start()
    assert begun.wait(PATIENCE)
    stopper = threading.Thread(target=executor.stop)
    stopper.start()
    until(lambda: waits_in(stopper, "join") or not stopper.is_alive(), "a stop that waits")
    assert stopper.is_alive(), "it waits for what is played"
    released.set()
    stopper.join(PATIENCE)
    assert {house.submissions.store.get(one.id).state for one in (first, second)} == {"queued"}


def test_a_job_that_nobody_wakes_for_is_found_and_one_thread_alone_looks(house, workers, monkeypatch):
    monkeypatch.setattr("quarterturn.runs.jobs.POLL_SECONDS", 0.01)
    looking, most, claim = set(), [0], house.submissions.queue.claim

    def watch_claim(worker, only=None):
        looking.add(worker)
        most[0] = max(most[0], len(looking))
        try:
            return claim(worker, only)
        finally:
            looking.discard(worker)

    monkeypatch.setattr(house.submissions.queue, "claim", watch_claim)
    workers(8, lambda claim, _: house.submissions.queue.finish(claim, None)).start()
    made = house.submissions.service.submit("ada", REQUEST, idempotency_key=None)[0]
    until(lambda: house.submissions.store.get(made.id).state == "done", "the end of the job")
    assert most == [1]


def test_trouble_is_said_once_and_so_is_its_end(house, workers, monkeypatch, caplog):
    caplog.set_level("INFO")
    tries = threading.Semaphore(0)
    claim = house.submissions.queue.claim
    monkeypatch.setattr("quarterturn.retry_loop.MAX_RETRY_DELAY_SECONDS", 0.01)
    monkeypatch.setattr("quarterturn.runs.jobs.REAP_SECONDS", 3600.0)  # the reaper meets no trouble, and ends none

    def fails(_worker, _only=None):
        tries.release()
        raise Unavailable("The database is away.")

    monkeypatch.setattr(house.submissions.queue, "claim", fails)
    executor = workers(2, lambda claim, _: house.submissions.queue.finish(claim, None))
    executor.start()
    made = submit(house, executor)
    for _ in range(3):
        assert tries.acquire(timeout=PATIENCE)
        submit(house, executor)
    monkeypatch.setattr(house.submissions.queue, "claim", claim)
    submit(house, executor)
    until(lambda: house.submissions.store.get(made.id).state == "done", "the end of the job")
    executor.stop()
    said = [record.getMessage() for record in caplog.records if record.name == "quarterturn.worker"]
    assert said == ["The database is away; trying again.", "It works again."]
