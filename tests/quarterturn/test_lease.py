"""Tests of leases: a job is its worker's until the lease ends, and no other worker may record for it."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.submissions.store.queue import LEASE, Lease, pause
from quarterturn.submissions.store.requests import SubmissionRequest
from sandbox.errors import Unavailable

from ..rotation.conftest import NamedBox, submission
from .conftest import Clock

MONTH = "2026-12"


@pytest.fixture
def house(home: Path, clock: Clock) -> Iterator[Application]:
    house = Application(home, None, clock)
    house.auth.accounts.create("ada", "submitter")
    house.submissions.store.take("ada", SubmissionRequest("private", image="agent:1"), month=MONTH)
    yield house
    house.close()


@pytest.mark.parametrize("renewed", [False, True])
def test_a_job_is_put_back_only_after_the_last_second_of_its_lease(house, clock, renewed):
    claim = house.submissions.queue.claim("worker")
    if renewed:
        clock.now += LEASE / 2
        assert house.submissions.queue.renew(claim)
    clock.now += LEASE
    assert house.submissions.queue.reap() == 0
    clock.now += timedelta(seconds=1)
    assert house.submissions.queue.reap() == 1


def test_a_job_that_another_has_claimed_since_is_lost_to_its_former_worker(house, clock):
    dead = house.submissions.queue.claim("one")
    clock.now += LEASE + timedelta(seconds=1)
    house.submissions.queue.reap()
    alive = house.submissions.queue.claim("two")
    leases = [Lease(house.submissions.queue, one, threading.Event()) for one in (dead, alive)]
    assert [lease.status() for lease in leases] == ["lost", "held"]


def test_a_job_that_this_machine_cannot_run_is_set_aside_also_once_its_run_is_open(small, clock, monkeypatch):
    def fails(_name):
        raise Unavailable("no engine today")

    house = Application(small, None, clock)
    house.auth.accounts.create("ada", "submitter")
    house.submissions.store.take("ada", SubmissionRequest("private", image="agent:1"), month=MONTH)
    monkeypatch.setattr(house.tasks, "box", fails)
    claim = house.submissions.queue.claim("worker")
    assert house.submissions.queue.opened(claim, house.runs.official.open(submission("ada"), NamedBox()).record.number)
    house.execution.job_worker.work(claim, threading.Event())
    waits = house.submissions.store.get(claim.id)
    house.close()
    assert (waits.state, waits.code, waits.not_before) == ("queued", None, clock() + pause(1))
