"""Tests of the dispatcher: who is given which serving, and when its key is granted."""

import threading
from dataclasses import replace

import pytest

from quarterturn.runners.dispatcher import HELD_SECONDS, Dispatcher, Offer
from quarterturn.runners.store import RunnerRecord

from ...patience import PATIENCE

SEALED = RunnerRecord(1, "north", "docker", "sealed", 2, "0" * 64, None)
OPEN = replace(SEALED, token=2, name="south", run_class="open")


def offer(handle: str = "s-1", run_class: str = "sealed") -> Offer:
    return Offer(
        handle, "docker", run_class, b"document of " + handle.encode(), b"test-key of " + handle.encode(), 60.0
    )


@pytest.fixture
def clock():
    class Clock:
        now = 0.0

        def __call__(self) -> float:
            return self.now

    return Clock()


@pytest.fixture
def dispatcher(clock):
    return Dispatcher(clock)


def test_a_runner_takes_only_servings_of_its_box_and_class(dispatcher):
    dispatcher.offer(offer())
    assert dispatcher.take(OPEN) is None
    assert dispatcher.take(replace(SEALED, box="bwrap")) is None
    taken = dispatcher.take(SEALED)
    assert taken is not None
    assert taken.handle == "s-1"


def test_the_oldest_is_taken_first_and_each_once(dispatcher):
    for name in ("s-1", "s-2"):
        dispatcher.offer(offer(name))
    assert [taken.handle if (taken := dispatcher.take(SEALED)) else None for _ in range(3)] == ["s-1", "s-2", None]


def test_a_key_is_granted_only_after_the_run_has_recorded_the_serving(dispatcher):
    made = offer()
    dispatcher.offer(made)
    dispatcher.take(SEALED)
    assert not dispatcher.wait_for_request(made, 0)
    assert dispatcher.request_start("s-1", SEALED.token) is None
    assert dispatcher.wait_for_request(made, 0)
    assert dispatcher.request_start("s-1", SEALED.token) is None
    dispatcher.grant(made)
    assert dispatcher.request_start("s-1", SEALED.token) == made.key
    assert dispatcher.request_start("s-1", SEALED.token) == made.key, "an answer that was lost is given again"


def test_another_runner_is_told_that_the_serving_is_not_its_own(dispatcher):
    dispatcher.offer(offer())
    dispatcher.take(SEALED)
    with pytest.raises(KeyError):
        dispatcher.request_start("s-1", OPEN.token)
    with pytest.raises(KeyError):
        dispatcher.request_start("s-2", SEALED.token)


def test_a_serving_that_its_runner_forgot_is_given_to_another(dispatcher, clock):
    other = replace(SEALED, token=3, name="east")
    dispatcher.offer(offer())
    dispatcher.take(SEALED)
    clock.now = HELD_SECONDS
    assert dispatcher.keep(["s-1", "s-9"], SEALED.token) == {"s-1"}
    clock.now = 2 * HELD_SECONDS
    assert dispatcher.take(other) is None
    clock.now += 1
    taken = dispatcher.take(other)
    assert taken is not None
    assert taken.runner == other.token
    assert dispatcher.keep(["s-1"], SEALED.token) == set()


def test_a_started_serving_is_never_given_to_another(dispatcher, clock):
    made = offer()
    dispatcher.offer(made)
    dispatcher.take(SEALED)
    dispatcher.request_start("s-1", SEALED.token)
    dispatcher.grant(made)
    clock.now = 100 * HELD_SECONDS
    assert dispatcher.take(replace(SEALED, token=3)) is None


def test_what_is_closed_wakes_who_waits_and_is_offered_no_more(dispatcher):
    made = offer()
    dispatcher.offer(made)
    dispatcher.take(SEALED)
    closer = threading.Timer(0.01, dispatcher.close, ["s-1"])
    closer.start()
    dispatcher.wait(PATIENCE)
    closer.join()
    with pytest.raises(KeyError):
        dispatcher.request_start("s-1", SEALED.token)
    assert dispatcher.find("s-1") is None


def test_no_repr_shows_a_document_or_a_key():
    assert "document of" not in repr(offer())
    assert "test-key" not in repr(offer())
