"""Tests of the relay of a serving's language model: bytes by position, for the holder of the serving's token alone."""

import socket

import pytest

from quarterturn.errors import NotAllowed, NotFound
from quarterturn.runners import model_relays
from quarterturn.runners.model_relays import ModelRelays
from sandbox.servings.relayed_model import model_token

from ...patience import PATIENCE, until

HANDLE = "s-" + "1" * 32
TOKEN = model_token(b"test-key-of-a-serving")


class Session:
    """A session of which the test is the model process (`sandbox.model_gateway.process.ModelLink`)."""

    calls, lost = (), False

    def __init__(self) -> None:
        self.gateway_end, self.model_end = socket.socketpair()
        self.model_end.settimeout(PATIENCE)

    def finish(self) -> None:
        self.gateway_end.close()


@pytest.fixture
def session():
    made = Session()
    yield made
    made.model_end.close()


@pytest.fixture
def relays(session):
    made = ModelRelays()
    made.open(HANDLE, session, TOKEN)
    yield made
    made.close(HANDLE)


def test_another_token_and_another_serving_find_no_model(relays):
    for handle, token in ((HANDLE, model_token(b"another")), (HANDLE, ""), (HANDLE, "é"), ("s-" + "2" * 32, TOKEN)):
        with pytest.raises(NotFound):
            relays.find(handle, token)


def test_what_is_sent_twice_reaches_the_model_process_once_and_a_gap_is_refused(relays, session):
    relay = relays.find(HANDLE, TOKEN)
    for position, data in ((0, b"abc"), (0, b"abc"), (1, b"bcde"), (5, b"f")):
        relay.write(position, data)
    assert session.model_end.recv(6, socket.MSG_WAITALL) == b"abcdef"
    with pytest.raises(NotAllowed):
        relay.write(7, b"h")


def test_what_came_is_given_again_until_the_runner_asks_beyond_it(relays, session):
    relay = relays.find(HANDLE, TOKEN)
    session.model_end.sendall(b"abcdef")
    until(lambda: relay.read(0) == b"abcdef", "what was sent")
    assert relay.read(2) == b"cdef"
    relay.forget(4)
    assert relay.read(4) == b"ef"
    for position in (3, 7):
        with pytest.raises(NotAllowed):
            relay.forget(position)


def test_a_model_process_waits_while_the_runner_takes_nothing(relays, session, monkeypatch):
    monkeypatch.setattr(model_relays, "MAX_AHEAD_BYTES", 10)
    relay = relays.find(HANDLE, TOKEN)
    session.model_end.sendall(b"x" * 10)
    until(lambda: len(relay.read(0)) == 10, "what was sent")
    session.model_end.sendall(b"y" * 10)
    assert relay.read(0) == b"x" * 10
    relay.forget(10)
    until(lambda: relay.read(10) == b"y" * 10, "what was sent after it")


def test_a_session_that_is_over_gives_what_it_had_and_then_nothing(relays, session):
    relay = relays.find(HANDLE, TOKEN)
    session.model_end.sendall(b"last")
    session.model_end.close()
    until(lambda: relay.read(4) is None, "its end")
    assert relay.read(0) == b"last"
    with pytest.raises(NotFound):
        relay.write(0, b"abc")
    relays.close(HANDLE)
    with pytest.raises(NotFound):
        relays.find(HANDLE, TOKEN)
