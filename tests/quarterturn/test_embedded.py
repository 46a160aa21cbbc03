"""The embedded executor: threads that take each job once, go on after errors, and lose nothing when they are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from quarterturn import clock, desk
from quarterturn.embedded import Embedded
from quarterturn.queue import LEASE
from quarterturn.settings import Service
from quarterturn.submitting import Submissions, Wish
from quarterturn.wiring import House

WISH = Wish("dev", image="agent:1")
WAIT = 120

WORKER = """
import sys, threading, time
from pathlib import Path
from quarterturn.embedded import Embedded
from quarterturn.wiring import House

home, ledger = map(Path, sys.argv[1:])

def work(house, claim, stopping):
    time.sleep(0.02)
    if house.queue.finish(claim, None):
        with ledger.open("a") as file:
            file.write(f"{claim.number}\\n")

house = House(home, None)
Embedded(house, 3, work).start()
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def house(home):
    house = House(home, None)
    house.settings = house.settings.model_copy(update={"service": Service(at_once=16, waiting=1000, dev_per_day=1000)})
    house.submissions = Submissions(house.engine, house.runs, house.settings.service, house.now)
    for name in ("ada", "bob"):
        house.accounts.create(name, "submitter")
    yield house
    house.close()


def submit(house, executor, account="ada"):
    return desk.submit(house, account, WISH, once=None, enqueue=executor.enqueue)[0]


def until(holds) -> bool:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_a_job_is_taken_once_it_is_there(house):
    done: Counter[int] = Counter()

    def work(house, claim, _stopping):
        done[claim.number] += 1
        house.queue.finish(claim, None)

    executor = Embedded(house, 2, work)
    executor.start()
    made = [submit(house, executor).number for _ in range(10)]
    assert until(lambda: not house.submissions.unfinished())
    executor.stop()
    assert done == dict.fromkeys(made, 1)


def test_a_job_that_fails_ends_no_worker(house, caplog):
    def work(house, claim, _stopping):
        if claim.number == 1:
            raise ValueError("a word of a task")
        house.queue.finish(claim, None)

    executor = Embedded(house, 1, work)
    executor.start()
    first, second = submit(house, executor), submit(house, executor)
    assert until(lambda: house.submissions.get(second.id).state == "done")
    executor.stop()
    assert house.submissions.get(first.id).state == "running", "its lease will end"
    assert "ValueError" in caplog.text
    assert "word" not in caplog.text


def test_without_workers_jobs_are_only_taken_in(house):
    executor = Embedded(house, 0)
    executor.start()
    made = submit(house, executor)
    executor.stop()
    assert house.submissions.get(made.id).state == "queued"


def test_stopping_waits_for_what_is_played_and_takes_nothing_more(house):
    begun = threading.Event()

    def work(house, claim, stopping):
        begun.set()
        assert stopping.wait(WAIT)
        house.queue.give_back(claim)

    executor = Embedded(house, 1, work)
    first, second = submit(house, executor), submit(house, executor, "bob")
    executor.start()
    assert begun.wait(WAIT)
    executor.stop()
    assert {house.submissions.get(one.id).state for one in (first, second)} == {"queued"}


@pytest.mark.slow
def test_a_worker_that_is_killed_amid_its_jobs_loses_none_and_none_is_ended_twice(house, home, tmp_path):
    ledger, idle = tmp_path / "ended", Embedded(house, 0)
    made = [submit(house, idle, ("ada", "bob")[n % 2]).number for n in range(60)]
    program = tmp_path / "worker.py"
    program.write_text(WORKER)

    def ended() -> list[int]:
        return [int(line) for line in ledger.read_text().split()] if ledger.exists() else []

    for target in (15, 40):
        worker = subprocess.Popen([sys.executable, program, home, ledger], cwd=Path(__file__).parents[2])
        try:
            assert until(lambda: len(ended()) >= target)  # noqa: B023 - asked in this turn of the loop alone
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
    later = House(home, None, lambda: clock.now() + 2 * LEASE + timedelta(seconds=1))
    again: Counter[int] = Counter()

    def work(house, claim, _stopping):
        if house.queue.finish(claim, None):
            again[claim.number] += 1

    later.queue.reap()
    last = Embedded(later, 2, work)
    last.start()
    assert until(lambda: not later.submissions.unfinished())
    last.stop()
    later.close()
    states = Counter(one.state for name in ("ada", "bob") for one in house.submissions.of(name, limit=100))
    assert states == {"done": len(made)}
    assert max(Counter([*ended(), *again.elements()]).values()) == 1
