"""A lease: a job is its worker's until the last second of it, whether the lease is fresh or renewed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from quarterturn.queue import LEASE
from quarterturn.submitting import Wish
from quarterturn.wiring import House


class Clock:
    now = datetime(2026, 12, 5, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.mark.parametrize("renewed", [False, True])
def test_a_job_is_put_back_only_after_the_last_second_of_its_lease(home, renewed):
    clock = Clock()
    house = House(home, None, clock)
    house.accounts.create("ada", "submitter")
    house.submissions.take("ada", Wish("dev", image="agent:1"), month="2026-12")
    claim = house.queue.claim("worker")
    if renewed:
        clock.now += LEASE / 2
        assert house.queue.renew(claim)
    clock.now += LEASE
    assert house.queue.reap() == 0
    clock.now += timedelta(seconds=1)
    assert house.queue.reap() == 1
    house.close()
