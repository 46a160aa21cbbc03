"""Tests of the reasons why a submission waits, as its owner is told them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.requests import SubmissionRequest

from ..conftest import with_submitters

NOW, MONTH = datetime(2026, 12, 5, 10, tzinfo=UTC), "2026-12"
PLAIN = SubmissionRequest("private", image="agent:1")


@pytest.fixture
def house(home, opened):
    house = opened(home, lambda: NOW)
    house.home.settings = house.home.settings.model_copy(update={"service": ServiceSettings(images=("",), at_once=2)})
    return with_submitters(house, "ada", "bob")


def taken(house, account="ada", *, counts=False):
    return house.submissions.store.take(account, replace(PLAIN, counts=counts), month=MONTH)[0]


def reason(house, submission):
    return house.submissions.owner_view.waits(house.submissions.store.get(submission.id))


def test_the_first_waits_for_a_worker_and_the_next_for_those_before_it(house):
    first, second = taken(house), taken(house, "bob")
    assert (reason(house, first), reason(house, second)) == ("next", "before")
    house.submissions.queue.claim("w")
    assert (reason(house, first), reason(house, second)) == (None, "next")


def test_one_waits_for_the_run_that_its_party_named_to_count(house):
    named, plain = taken(house, counts=True), taken(house)
    assert house.submissions.queue.claim("w").number == named.number
    assert house.submissions.queue.claim("w") is None
    assert reason(house, plain) == "named"


def test_one_waits_for_as_many_of_its_party_as_may_run(house):
    running = [taken(house), taken(house)]
    assert [house.submissions.queue.claim("w").number for _ in running] == [one.number for one in running]
    assert reason(house, taken(house)) == "own"


def test_one_that_was_given_back_waits_for_its_pause(house):
    submission = taken(house)
    house.submissions.queue.give_back(house.submissions.queue.claim("w"), timedelta(minutes=1))
    assert reason(house, submission) == "again"
