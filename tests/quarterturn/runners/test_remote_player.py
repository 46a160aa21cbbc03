"""Tests of the player of servings on runners: the order of its records, restarts, and runners that are lost."""

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from quarterturn.app import Application
from quarterturn.errors import NotFound, Unavailable
from quarterturn.runners import remote_player
from quarterturn.runners.dispatcher import Offer
from quarterturn.runners.remote_player import RemotePlayer
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runners.store import RunnerRecord
from sandbox.boxes.box import Program
from sandbox.errors import Lost
from sandbox.gateway import GatewaySpec
from sandbox.results.failure import AttemptFacts, Ruling, Stage, classify
from sandbox.servings.handed_in import HandIn
from sandbox.servings.sealing import decrypt_serving, seal_hand_in
from sandbox.servings.serving import Serving
from sandbox.transcript import ModelCall, Transcript
from sandbox.world.frozen import FrozenState
from vault.errors import Unavailable as DatabaseAway

from ...patience import PATIENCE, until
from .test_model_relays import Session

HANDLE = "s-" + "1" * 32
SPEC = GatewaySpec(alias="r-1", goal="find the kingfisher", tools=[], servers=["filesystem"], max_steps=5)
SERVING = Serving(HANDLE, SPEC, {"filesystem": {}}, Program(command=["true"]))
LEFT = HandIn(AttemptFacts(Stage.FROZEN, "answered"), Transcript((), "42", "answered"), state=FrozenState(b"a tar"))
BY_NORTH = replace(LEFT, played_by="north")
NEVER = threading.Event()


@pytest.fixture
def house(live):
    house = Application(live, None)
    yield house
    house.close()


@pytest.fixture
def fleet(house):
    return house.runners.fleet


@pytest.fixture
def runner(fleet, house) -> RunnerRecord:
    caller = house.auth.accounts.caller(fleet.runners.add("north", 90))
    fleet.runners.register(caller.token, box="bwrap", run_class="sealed", places=1, programs="0" * 64)
    return fleet.runners.record_contact(caller.token)


@pytest.fixture
def player(fleet, runner):
    return RemotePlayer(fleet, RunnerBox(fleet.runners, "sealed"))


class Formless:
    """What a runner that was taken over may seal: no hand-in."""

    def to_bytes(self) -> bytes:
        return b"{}"


class Playing(threading.Thread):
    """A thread that has a serving played, as a run does."""

    def __init__(self, player: RemotePlayer, serving: Serving = SERVING, stop: threading.Event = NEVER) -> None:
        super().__init__()
        self.prepared, self.stop, self.recorded = player.prepare(serving), stop, 0
        self.result: HandIn | None = None
        self.error: Exception | None = None
        self.start()

    def record(self) -> None:
        self.recorded += 1

    def run(self) -> None:
        try:
            self.result = self.prepared.play(self.record, self.stop)
        except Exception as error:
            self.error = error

    def ended(self) -> HandIn:
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.error:
            raise self.error
        assert self.result is not None
        return self.result


def taken(fleet, runner) -> Offer:
    """Take what is offered, once something is."""
    offers: list[Offer] = []

    def take() -> bool:
        offers.extend(offer for offer in [fleet.dispatcher.take(runner)] if offer)
        return bool(offers)

    until(take, "an offer")
    return offers[0]


def started(fleet, runner, playing: Playing) -> Serving:
    """Take and start what is offered, as a runner does, and return the serving that it reads."""
    offer = taken(fleet, runner)
    until(lambda: fleet.dispatcher.request_start(offer.handle, runner.token), "its key")
    key = fleet.dispatcher.request_start(offer.handle, runner.token)
    assert playing.recorded == 1, "a key was granted before the serving was recorded"
    return decrypt_serving(offer.handle, offer.document, key)


async def _chunks(content: bytes):
    yield content


def hand_in(fleet, runner, content: bytes) -> None:
    asyncio.run(fleet.handed_in.receive(HANDLE, _chunks(content)))
    assert fleet.runners.hand_in(HANDLE, runner.token)
    fleet.dispatcher.notify()


def sealed(fleet, content: HandIn = LEFT, handle: str = HANDLE) -> bytes:
    return seal_hand_in(handle, content, fleet.key.public)


def test_a_runner_reads_the_serving_and_the_run_reads_what_it_left(fleet, runner, player):
    playing = Playing(player)
    assert started(fleet, runner, playing).to_bytes() == SERVING.to_bytes()
    hand_in(fleet, runner, sealed(fleet))
    assert playing.ended() == BY_NORTH
    assert playing.recorded == 1
    playing.prepared.close()
    assert fleet.runners.serving(HANDLE).state == "closed"
    with pytest.raises(FileNotFoundError):
        fleet.handed_in.read(HANDLE)


@pytest.mark.parametrize("kind", ["noise", "another handle", "another key", "another form"])
def test_what_does_not_open_is_a_lost_runner_and_no_error_of_the_run(fleet, runner, player, kind):
    other = X25519PrivateKey.generate().public_key().public_bytes_raw()
    content = {
        "noise": b"\0" * 500,
        "another handle": sealed(fleet, handle="s-" + "2" * 32),
        "another key": seal_hand_in(HANDLE, LEFT, other),
        "another form": seal_hand_in(HANDLE, Formless(), fleet.key.public),
    }[kind]
    playing = Playing(player)
    started(fleet, runner, playing)
    hand_in(fleet, runner, content)
    assert playing.ended().facts == AttemptFacts(Stage.SERVED, runner_lost=True)


def test_a_run_that_another_process_goes_on_with_takes_what_the_runner_still_plays(fleet, runner, player):
    stop = threading.Event()
    first = Playing(player, stop=stop)
    started(fleet, runner, first)
    stop.set()
    with pytest.raises(Lost):
        first.ended()
    first.prepared.close()
    assert fleet.runners.serving(HANDLE).state == "started", "it goes on where it has started"
    second = Playing(player)
    hand_in(fleet, runner, sealed(fleet))
    assert second.ended() == BY_NORTH
    assert second.recorded == 0, "it was exposed once"


def test_what_was_handed_in_while_nobody_waited_is_taken_later(fleet, runner, player):
    stop = threading.Event()
    first = Playing(player, stop=stop)
    started(fleet, runner, first)
    stop.set()
    with suppress(Lost):
        first.ended()
    first.prepared.close()
    hand_in(fleet, runner, sealed(fleet))
    assert Playing(player).ended() == BY_NORTH


def test_a_runner_that_hands_nothing_in_until_it_is_due_is_lost(fleet, runner, player, house):
    playing = Playing(player)
    started(fleet, runner, playing)
    row, now = fleet.runners.serving(HANDLE), house.home.now()
    assert row.due - row.started_at > timedelta(seconds=remote_player.OUTAGE_SECONDS)
    fleet.runners._clock = lambda: now + timedelta(days=1)
    fleet.dispatcher.notify()
    assert playing.ended().facts.runner_lost


def test_a_serving_that_is_overdue_when_the_service_is_back_is_waited_for(fleet, runner, player, house, monkeypatch):
    stop, later = threading.Event(), house.home.now() + timedelta(days=1)
    first = Playing(player, stop=stop)
    started(fleet, runner, first)
    stop.set()
    with pytest.raises(Lost):
        first.ended()
    first.prepared.close()
    fleet.runners._clock = lambda: later
    monkeypatch.setattr(fleet.dispatcher, "wait", lambda _: hand_in(fleet, runner, sealed(fleet)))
    assert Playing(player).ended() == BY_NORTH


def test_a_serving_that_is_overdue_when_the_database_is_back_is_waited_for(fleet, runner, player, house, monkeypatch):
    playing, later = Playing(player), house.home.now() + timedelta(days=1)
    started(fleet, runner, playing)
    look, looks = fleet.runners.serving, []

    def serving(handle: str):
        looks.append(handle)
        if len(looks) > 1:
            return look(handle)
        fleet.runners._clock = lambda: later
        raise DatabaseAway("the database cannot be reached")

    def wait(_: float) -> None:
        if len(looks) >= 2 and look(HANDLE).state == "started":
            hand_in(fleet, runner, sealed(fleet))

    monkeypatch.setattr(fleet.runners, "serving", serving)
    monkeypatch.setattr(fleet.dispatcher, "wait", wait)
    assert playing.ended() == BY_NORTH


def test_a_runner_that_hands_nothing_in_after_an_outage_either_is_lost(fleet, runner, player, house, monkeypatch):
    monkeypatch.setattr(remote_player, "OUTAGE_SECONDS", 0.0)
    fleet.runners.start(HANDLE, runner.token, run=None, task="", seconds=0.0)
    assert Playing(player).ended().facts.runner_lost


def test_revoking_a_runner_ends_what_it_plays(fleet, runner, player):
    playing = Playing(player)
    started(fleet, runner, playing)
    fleet.runners.revoke("north")
    assert playing.ended().facts.runner_lost


def test_a_serving_that_cannot_be_recorded_is_never_granted(fleet, runner, player):
    class Refusing(Playing):
        def record(self) -> None:
            raise Unavailable("the database is away")

    playing = Refusing(player)
    offer = taken(fleet, runner)
    assert fleet.dispatcher.request_start(offer.handle, runner.token) is None
    with pytest.raises(Unavailable, match="the database is away"):
        playing.ended()
    playing.prepared.close()
    with pytest.raises(KeyError):
        fleet.dispatcher.request_start(offer.handle, runner.token)
    assert fleet.runners.serving(HANDLE) is None


def test_where_no_runner_is_alive_a_run_is_put_off(fleet, player, monkeypatch):
    fleet.runners.revoke("north")
    monkeypatch.setattr(remote_player, "NO_RUNNER_SECONDS", 0.0)
    with pytest.raises(Unavailable, match="no runner for sealed runs was alive"):
        Playing(player).ended()


def test_no_box_is_made_where_no_runner_of_the_class_is_alive(fleet, runner):
    assert RunnerBox(fleet.runners, "sealed").name == "bwrap"
    with pytest.raises(Unavailable, match="no runner for open runs is alive: start one with"):
        RunnerBox(fleet.runners, "open")


def test_a_serving_whose_key_was_lost_with_its_process_is_served_again_and_costs_nothing(fleet, runner, player, house):
    fleet.dispatcher.offer(Offer(HANDLE, "bwrap", "sealed", b"sealed", b"test-key", 600.0))
    fleet.dispatcher.take(runner)
    fleet.dispatcher.request_start(HANDLE, runner.token)
    fleet.record_start(HANDLE)
    fleet.dispatcher.close(HANDLE)  # with the process that held the key
    playing = Playing(player)
    with pytest.raises(NotFound):
        house.runners.service.start(runner.token, HANDLE)
    assert classify(playing.ended().facts) == Ruling("ours", "place-not-ready")


class Models:
    """Sessions of which the test is the model process (`sandbox.model_gateway.process.ModelLinks`)."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []

    def open(self) -> Session:
        self.sessions.append(Session())
        return self.sessions[-1]


@pytest.fixture
def models():
    made = Models()
    yield made
    for session in made.sessions:
        session.model_end.close()


ASKING = replace(SERVING, session=replace(SPEC, model={"wire": "openai", "models": ["small"]}))
ASKED = ModelCall("chat", "small", 0, {}, (("text", "a kingfisher"),), 3, 5, False, "ok", "")


def test_what_was_asked_of_a_model_is_what_our_log_says_and_not_the_runner(fleet, runner, models):
    playing = Playing(RemotePlayer(fleet, RunnerBox(fleet.runners, "sealed"), models=models), ASKING)
    started(fleet, runner, playing)
    (session,) = models.sessions
    session.calls = (ASKED,)
    forged = replace(LEFT.transcript, model_calls=(replace(ASKED, read=0, written=0), ASKED))
    hand_in(fleet, runner, sealed(fleet, replace(LEFT, transcript=forged)))
    assert playing.ended().transcript.model_calls == (ASKED,)
    assert session.model_end.recv(1) == b"", "its session is over"


def test_a_run_that_is_stopped_takes_nothing_for_a_serving_whose_model_went_with_it(fleet, runner, models):
    stop = threading.Event()
    playing = Playing(RemotePlayer(fleet, RunnerBox(fleet.runners, "sealed"), models=models), ASKING, stop)
    started(fleet, runner, playing)
    stop.set()
    with pytest.raises(Lost):
        playing.ended()
    playing.prepared.close()
    assert fleet.runners.serving(HANDLE).state == "closed"


def test_a_serving_whose_model_session_died_with_an_earlier_process_says_so(fleet, runner, player):
    stop = threading.Event()
    first = Playing(player, stop=stop)  # without a session, as after a killing
    started(fleet, runner, first)
    stop.set()
    with pytest.raises(Lost):
        first.ended()
    hand_in(fleet, runner, sealed(fleet))
    left = Playing(player, ASKING).ended()
    assert (left.facts.upstream, left.transcript.model_calls) == ("broke", ())
