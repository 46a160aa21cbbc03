"""Tests of the runner's loop against a service in memory; supervisors are stood in for by locks of the spool."""

from __future__ import annotations

import errno
import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from sandbox.errors import Malformed, NotAllowed, Unavailable
from sandbox.servings.runner import MAX_PAUSE_SECONDS, RENEW_SECONDS, Gone, Runner, SealedServing
from sandbox.servings.spool import Spool

FIRST, SECOND, THIRD = (f"s-{digit * 32}" for digit in "123")


class Service:
    """A service that has servings to give; `away` makes it unreachable."""

    def __init__(self, *handles: str) -> None:
        self.waiting, self.unwanted, self.gone, self.away = list(handles), set(), set(), False
        self.started: list[str] = []
        self.alive_with: list[list[str]] = []
        self.handed_in: dict[str, bytes] = {}
        self.failures: dict[str, bool] = {}

    def _reach(self) -> None:
        if self.away:
            raise Unavailable("nobody answers")

    def register(self, document):
        self._reach()
        return {"public_key": "00" * 32}

    def take(self, seconds):
        self._reach()
        return SealedServing(self.waiting.pop(0), b"ciphertext") if self.waiting else None

    def start(self, handle):
        self._reach()
        if handle in self.gone:
            raise Gone(handle)
        self.started.append(handle)
        return bytes(32)

    def alive(self, handles):
        self._reach()
        self.alive_with.append(sorted(handles))
        return set(handles) - self.unwanted

    def report_failure(self, handle, *, agent_started):
        self._reach()
        self.failures[handle] = agent_started

    def hand_in(self, handle, sealed):
        self._reach()
        if handle in self.gone:
            raise Gone(handle)
        self.handed_in[handle] = sealed.read()


class Locks:
    """Supervisors that do nothing but hold their locks, until a test finishes or kills them."""

    def __init__(self, spool: Spool) -> None:
        self.spool, self.held = spool, {}

    def start(self, request) -> None:
        self.held[request.handle] = self.spool.lock(request.handle)

    def finish(self, handle: str) -> None:
        self.spool.keep(handle, handle.encode())
        self.die(handle)

    def die(self, handle: str) -> None:
        os.close(self.held.pop(handle))


class Bench:
    """A runner with its service, its spool and a clock that a test moves."""

    def __init__(self, folder, *handles: str, places: int = 1) -> None:
        self.now, self.places = 0.0, places
        self.service, self.spool = Service(*handles), Spool(folder / "spool")
        self.locks = Locks(self.spool)
        self.restart()

    def restart(self) -> None:
        self.runner = Runner(self.service, self.spool, {}, self.locks, places=self.places, clock=lambda: self.now)

    def steps(self, number: int = 5, seconds: float = 0.5) -> None:
        for _ in range(number):
            self.runner.step()
            self.now += seconds


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path, FIRST, SECOND, THIRD)
    yield made
    for handle in list(made.locks.held):
        made.locks.die(handle)


def test_servings_are_played_one_after_another_and_the_next_one_travels_ahead(bench):
    bench.steps()
    assert (bench.service.started, bench.service.waiting) == ([FIRST], [THIRD]), "the second waits, without its key"
    bench.locks.finish(FIRST)
    bench.steps()
    assert bench.service.handed_in == {FIRST: FIRST.encode()}
    assert bench.service.started == [FIRST, SECOND]
    assert bench.spool.states() == {SECOND: "playing"}


def test_a_runner_that_is_started_again_goes_on_with_what_is_played_and_hands_in_what_is_finished(bench):
    bench.steps()
    bench.restart()
    bench.steps()
    assert bench.service.started == [FIRST], "no serving is started a second time"
    assert FIRST in bench.service.alive_with[-1]
    bench.locks.finish(FIRST)
    bench.restart()
    bench.steps(1)
    assert bench.service.handed_in == {FIRST: FIRST.encode()}


def test_a_service_that_is_away_loses_nothing_and_is_asked_with_growing_pauses(bench):
    bench.steps()
    bench.service.away = True
    bench.locks.finish(FIRST)
    bench.steps(1200)  # ten minutes
    assert bench.spool.states() == {FIRST: "finished"}
    bench.service.away = False
    bench.steps(int(2 * MAX_PAUSE_SECONDS) + 1)
    assert bench.service.handed_in == {FIRST: FIRST.encode()}
    assert bench.service.started == [FIRST, SECOND]


def test_a_service_that_is_away_is_not_asked_all_the_time(bench):
    bench.service.away = True
    asked = []
    bench.service.register = lambda document: asked.append(bench.now) or bench.service._reach()
    bench.steps(1200)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses == sorted(pauses)
    assert max(pauses) == MAX_PAUSE_SECONDS


def test_what_is_not_wanted_any_more_is_ended_and_what_waits_is_given_up(bench, monkeypatch):
    ended = []
    monkeypatch.setattr(bench.spool, "end", ended.append)
    bench.steps()
    bench.service.unwanted |= {FIRST, SECOND}
    bench.now += RENEW_SECONDS
    bench.steps(1)
    assert ended == [FIRST]
    bench.locks.finish(FIRST)
    bench.steps()
    assert bench.service.started == [FIRST, THIRD]


def test_what_comes_after_its_run_was_closed_is_discarded(bench):
    bench.steps()
    bench.service.gone |= {FIRST, SECOND}
    bench.locks.finish(FIRST)
    bench.steps(10)
    assert bench.service.handed_in == {}
    assert bench.service.started == [FIRST, THIRD]
    assert bench.spool.states() == {THIRD: "playing"}


@pytest.mark.parametrize("agent_started", [False, True])
def test_a_serving_whose_supervisor_died_is_reported_at_once(bench, agent_started):
    bench.steps()
    if agent_started:
        Spool.record_agent_start(bench.locks.held[FIRST])
    bench.locks.die(FIRST)
    bench.steps(1)
    assert bench.service.failures == {FIRST: agent_started}
    assert bench.service.handed_in == {}
    bench.steps()
    assert bench.spool.states() == {SECOND: "playing"}


def test_what_a_stopped_machine_cut_off_is_served_again_and_what_outlived_the_stop_is_not(bench):
    """An agent that is still played after the next start may kill its supervisor: that is its own doing."""
    bench.steps()
    Spool.record_agent_start(bench.locks.held[FIRST])
    bench.spool.note_stop()
    bench.locks.die(FIRST)
    bench.restart()
    bench.steps()
    assert bench.service.failures == {FIRST: False}
    Spool.record_agent_start(bench.locks.held[THIRD])
    bench.spool.note_stop()
    bench.spool.note_start()
    bench.locks.die(THIRD)
    bench.steps(1)
    assert bench.service.failures == {FIRST: False, THIRD: True}
    assert not [path for path in bench.spool.folder.iterdir() if path.stem in {FIRST, THIRD}]


def test_a_runner_that_was_killed_before_it_started_what_it_asked_for_reports_that_nothing_began(bench, monkeypatch):
    def recorded_and_cut_off(handle):
        bench.service.started.append(handle)
        bench.service.away = True
        raise Unavailable("the answer is lost")

    monkeypatch.setattr(bench.service, "start", recorded_and_cut_off)
    bench.steps(1)
    bench.restart()
    bench.service.away = False
    monkeypatch.undo()
    bench.steps(1)
    assert bench.service.failures == {FIRST: False}
    assert bench.service.started == [FIRST, SECOND]


def test_a_key_whose_answer_was_lost_is_asked_for_again(bench, monkeypatch):
    start, answers = bench.service.start, iter([Unavailable("the answer is lost")])

    def lost_once(handle):
        if error := next(answers, None):
            raise error
        return start(handle)

    monkeypatch.setattr(bench.service, "start", lost_once)
    bench.steps(10)
    assert (bench.service.started, bench.service.failures) == ([FIRST], {})


def test_no_key_is_asked_for_while_the_spool_cannot_be_written(bench, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    bench.steps()
    assert bench.service.started == []
    monkeypatch.undo()
    bench.steps(10)
    assert bench.service.started == [FIRST]


def test_two_runners_do_not_share_a_spool(bench):
    with bench.spool.owned(), pytest.raises(NotAllowed, match="another runner works with the spool"):
        bench.runner.run(threading.Event())


def test_so_many_are_played_at_a_time_as_there_are_places(tmp_path):
    bench = Bench(tmp_path, FIRST, SECOND, THIRD, places=2)
    bench.steps(20)
    assert bench.service.started == [FIRST, SECOND]
    for handle in (FIRST, SECOND):
        bench.locks.finish(handle)
    bench.steps()
    assert bench.service.started == [FIRST, SECOND, THIRD]
    bench.locks.die(THIRD)


@pytest.mark.parametrize("document", [{}, {"public_key": 3}, {"public_key": "zz"}, {"public_key": "00"}])
def test_a_service_without_a_public_key_is_refused(bench, document):
    bench.service.register = lambda _: document
    with pytest.raises(Malformed, match="public_key"):
        bench.runner.step()


def test_a_handle_that_would_name_another_file_is_refused(tmp_path):
    with pytest.raises(Malformed, match="handle"):
        Bench(tmp_path, "../../x").steps()
