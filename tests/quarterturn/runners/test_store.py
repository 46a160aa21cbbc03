"""Tests of the store of runners: registering, revoking, and the servings that they started."""

from datetime import UTC, datetime, timedelta

import pytest

from quarterturn import migrations
from quarterturn.accounts.store import Accounts
from quarterturn.errors import NotFound, Refused
from quarterturn.runners.store import ALIVE_SECONDS, Runners
from vault.database import open_engine

pytestmark = pytest.mark.both_databases
NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
LONG = 600.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def accounts(url, clock):
    engine = open_engine(url)
    migrations.upgrade(engine)
    yield Accounts(engine, clock)
    engine.dispose()


@pytest.fixture
def runners(accounts, clock):
    return Runners(accounts._engine, accounts, clock)


def token_of(accounts: Accounts, text: str) -> int:
    caller = accounts.caller(text)
    assert caller is not None
    assert caller.scopes == {"play"}
    return caller.token


@pytest.fixture
def north(runners, accounts):
    token = token_of(accounts, runners.add("north", 90))
    runners.register(token, box="docker", run_class="sealed", places=2, programs="0" * 64)
    return token


def test_a_runner_is_alive_for_a_while_after_it_was_heard_of(runners, north, clock):
    assert [runner.name for runner in runners.alive()] == ["north"]
    clock.now += timedelta(seconds=ALIVE_SECONDS + 1)
    assert not runners.alive()
    assert runners.record_contact(north).name == "north"
    assert [runner.name for runner in runners.alive()] == ["north"]


def test_a_runner_that_never_registered_is_not_alive(runners):
    runners.add("south", 90)
    assert not runners.alive()
    assert [runner.box for runner in runners.list()] == [None]


def test_a_name_is_given_once_and_a_foreign_token_registers_nothing(runners, accounts, north):
    with pytest.raises(Refused, match="there is or was a runner 'north'"):
        runners.add("north", 90)
    _, token = accounts.create("ada", "submitter")
    with pytest.raises(NotFound, match="no runner's; make one with `quarterturn runner add NAME`"):
        runners.register(token.id, box="docker", run_class="sealed", places=2, programs="0" * 64)
    assert runners.record_contact(token.id) is None


def test_a_runner_that_cannot_be_added_leaves_no_token(runners, accounts, monkeypatch):
    create = accounts.create

    def killed_behind_it(*args, **named):
        create(*args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(accounts, "create", killed_behind_it)
    with pytest.raises(KeyboardInterrupt):
        runners.add("south", 90)
    assert accounts.list() == []


@pytest.mark.parametrize("state", ["lost", "unbegun"])
def test_a_failure_is_recorded_once_and_by_the_runner_that_started_the_serving(runners, north, state):
    runners.start("s-1", north, run=None, task="", seconds=LONG)
    runners.record_failure("s-1", north + 1, state)
    assert runners.serving("s-1").state == "started"
    runners.record_failure("s-1", north, state)
    runners.record_failure("s-1", north, "unbegun")
    assert runners.serving("s-1").state == state
    assert not runners.hand_in("s-1", north)


def test_only_the_runner_that_started_a_serving_hands_it_in_and_again_changes_nothing(runners, north):
    runners.start("s-1", north, run=None, task="", seconds=LONG)
    assert not runners.hand_in("s-1", north + 1)
    assert runners.hand_in("s-1", north)
    assert runners.hand_in("s-1", north)
    runners.close("s-1")
    assert not runners.hand_in("s-1", north)
    assert not runners.hand_in("s-2", north)


def test_revoking_ends_token_and_servings_and_lists_all_that_it_started(runners, accounts, north):
    runners.start("s-1", north, run=None, task="t-aaaaaaaaaaaaaaaa", seconds=LONG)
    runners.start("s-2", north, run=None, task="t-bbbbbbbbbbbbbbbb", seconds=LONG)
    runners.hand_in("s-1", north)
    listed = runners.revoke("north")
    assert [(serving.handle, serving.state) for serving in listed] == [("s-1", "handed-in"), ("s-2", "closed")]
    assert not runners.hand_in("s-2", north)
    assert not runners.alive()
    assert not runners.list()
    assert [token.revoked_at is not None for token in accounts.list()] == [True]
    with pytest.raises(NotFound, match="there is no runner 'south'"):
        runners.revoke("south")


def test_a_serving_is_due_after_its_seconds(runners, north):
    runners.start("s-1", north, run=None, task="", seconds=LONG)
    serving = runners.serving("s-1")
    assert serving is not None
    assert serving.due == NOW + timedelta(seconds=LONG)
    assert runners.serving("s-2") is None
