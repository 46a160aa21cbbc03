"""Tests of the dispatcher: who is given which serving, and when its key is granted."""

import threading
from dataclasses import replace

import pytest

from quarterturn.runners.dispatcher import HELD_SECONDS, MAX_UNSTARTED, SKIPPED_SECONDS, Dispatcher, Offer
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
    runners = [replace(SEALED, token=number) for number in (3, 4, 5)]
    assert [taken.handle if (taken := dispatcher.take(one)) else None for one in runners] == ["s-1", "s-2", None]


def test_a_runner_that_asks_again_is_given_what_it_holds_and_no_second_one(dispatcher):
    for name in ("s-1", "s-2"):
        dispatcher.offer(offer(name))
    assert dispatcher.take(SEALED) is dispatcher.take(SEALED)
    dispatcher.request_start("s-1", SEALED.token)
    assert dispatcher.take(SEALED).handle == "s-2"


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
    assert dispatcher.keep(["s-1", "s-9"], SEALED.token, is_playing=True) == {"s-1"}
    clock.now = 2 * HELD_SECONDS
    assert dispatcher.take(other) is None
    clock.now += 1
    taken = dispatcher.take(other)
    assert taken is not None
    assert taken.runner == other.token
    assert dispatcher.keep(["s-1"], SEALED.token, is_playing=True) == set()


def test_a_serving_that_its_runner_names_and_neither_starts_nor_has_another_to_play_goes_to_another(dispatcher, clock):
    made = offer()
    dispatcher.offer(made)
    dispatcher.take(SEALED)
    clock.now = HELD_SECONDS
    assert dispatcher.keep(["s-1"], SEALED.token, is_playing=False) == {"s-1"}
    clock.now += 1
    assert not dispatcher.wait_for_request(made, 0)
    assert dispatcher.keep(["s-1"], SEALED.token, is_playing=True) == set()
    assert dispatcher.take(replace(SEALED, token=3)) is made


def test_a_runner_that_starts_none_of_what_it_takes_is_given_none_for_a_while_and_named(dispatcher, clock, caplog):
    dispatcher.offer(offer())
    for _ in range(MAX_UNSTARTED):
        assert dispatcher.take(SEALED) is not None
        clock.now += HELD_SECONDS + 1
    assert dispatcher.take(SEALED) is None
    assert "the runner north took 3 servings in a row and started none" in caplog.text
    other = replace(SEALED, token=3, name="east")
    assert dispatcher.take(other) is not None
    clock.now += SKIPPED_SECONDS
    dispatcher.offer(offer("s-2"))
    assert dispatcher.take(SEALED) is not None


def test_a_runner_that_starts_one_in_between_is_not_skipped(dispatcher, clock):
    for number in range(2 * MAX_UNSTARTED):
        dispatcher.offer(offer(f"s-{number}"))
        taken = dispatcher.take(SEALED)
        assert taken is not None
        if number % 2:
            dispatcher.request_start(taken.handle, SEALED.token)
        clock.now += HELD_SECONDS + 1


def test_what_a_runner_gives_back_is_offered_to_others_unless_its_start_is_being_recorded(dispatcher):
    made = offer()
    dispatcher.offer(made)
    dispatcher.take(SEALED)
    assert dispatcher.give_back("s-1", OPEN.token)
    assert made.state == "taken"
    assert dispatcher.give_back("s-1", SEALED.token)
    assert dispatcher.take(replace(SEALED, token=3)) is made
    dispatcher.request_start("s-1", 3)
    assert not dispatcher.give_back("s-1", 3)


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
