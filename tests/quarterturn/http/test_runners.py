"""Tests of the interface for runners: who is served, when its key is granted, and what is taken in."""

import base64
import fcntl
from datetime import timedelta

import pytest

from quarterturn.http.routes import runners as routes
from quarterturn.runners import hand_in_folder, programs
from quarterturn.runners.dispatcher import Offer
from quarterturn.runners.programs import digests_of_servers

HANDLE = "s-" + "1" * 32
OWN = {"version": 1, "box": "bwrap", "run_class": "sealed", "places": 2}


@pytest.fixture
def runner(site, monkeypatch):
    monkeypatch.setattr(routes, "MAX_HELD_SECONDS", 0)
    site.tokens["north"] = site.house.runners.store.add("north", 90)
    answer = site.post("/runner/v1/registration", OWN | {"servers": digests_of_servers()}, "north")
    assert answer.status_code == 200, answer.text
    return site


def offer(site, handle: str = HANDLE) -> Offer:
    made = Offer(handle, "bwrap", "sealed", b"sealed document", b"test-key", 600.0)
    site.house.runners.fleet.dispatcher.offer(made)
    return made


def start(site) -> Offer:
    """Have the runner take and start a serving of no official run."""
    made = offer(site)
    assert site.ask("POST", "/runner/v1/work?seconds=0", "north").status_code == 200
    assert site.ask("POST", f"/runner/v1/servings/{HANDLE}/start", "north").status_code == 204
    site.house.runners.fleet.record_start(HANDLE)
    site.house.runners.fleet.dispatcher.grant(made)
    return made


def hand_in(site, content: bytes, who: str = "north"):
    return site.ask("PUT", f"/runner/v1/servings/{HANDLE}/result", who, content=content)


def test_a_runner_with_other_servers_or_another_version_is_refused(site, problem):
    site.tokens["north"] = site.house.runners.store.add("north", 90)
    same = digests_of_servers()
    fewer = {name: digest for name, digest in same.items() if name != "git"}
    for wrong in ({"servers": fewer}, {"servers": same | {"git": "0" * 64}}, {"servers": same, "version": 2}):
        assert problem(site.post("/runner/v1/registration", OWN | wrong, "north")) == "conflict"
    assert problem(site.ask("POST", "/runner/v1/work?seconds=0", "north")) == "conflict"


def test_a_runner_with_other_servers_than_the_set_names_is_refused_although_the_service_has_them_too(
    site, problem, monkeypatch
):
    site.tokens["north"] = site.house.runners.store.add("north", 90)
    named = set(site.house.runners._servers_of_set())
    assert named
    monkeypatch.setattr(programs, "server_digest", lambda _: "0" * 64)
    answer = site.post("/runner/v1/registration", OWN | {"servers": digests_of_servers()}, "north")
    assert problem(answer) == "conflict"
    assert all(name in answer.json()["detail"] for name in named)


def test_a_runner_learns_the_key_to_which_it_seals(runner):
    answer = runner.post("/runner/v1/registration", OWN | {"servers": digests_of_servers()}, "north").json()
    assert bytes.fromhex(answer["public_key"]) == runner.house.runners.fleet.key.public


def test_there_is_nothing_to_play_until_there_is(runner):
    assert runner.ask("POST", "/runner/v1/work?seconds=0", "north").status_code == 204
    offer(runner)
    taken = runner.ask("POST", "/runner/v1/work?seconds=0", "north").json()
    assert taken == {"handle": HANDLE, "document": base64.b64encode(b"sealed document").decode()}


def test_a_key_comes_only_after_the_serving_is_recorded(runner, problem):
    made = offer(runner)
    runner.ask("POST", "/runner/v1/work?seconds=0", "north")
    where = f"/runner/v1/servings/{HANDLE}/start"
    assert runner.ask("POST", where, "north").status_code == 204
    assert hand_in(runner, b"early").status_code == 409
    runner.house.runners.fleet.record_start(HANDLE)
    runner.house.runners.fleet.dispatcher.grant(made)
    assert runner.ask("POST", where, "north").json() == {"key": base64.b64encode(b"test-key").decode()}
    runner.tokens["south"] = runner.house.runners.store.add("south", 90)
    assert problem(runner.ask("POST", where, "south")) == "not-found"


def test_what_is_handed_in_lies_on_the_disk_as_it_came_and_twice_is_once(runner, problem):
    start(runner)
    assert hand_in(runner, b"what was left").status_code == 204
    assert hand_in(runner, b"something else").status_code == 204
    assert runner.house.runners.fleet.handed_in.read(HANDLE) == b"what was left"
    place = runner.house.home.places.handed_in
    assert [path.name for path in place.iterdir()] == [f"{HANDLE}.sealed"]
    assert place.stat().st_mode & 0o077 == 0
    runner.house.runners.store.close(HANDLE)
    assert problem(hand_in(runner, b"late")) == "conflict"


def test_what_is_handed_in_after_an_outage_is_taken_though_it_was_due(runner):
    start(runner)
    store = runner.house.runners.store
    late = store.now() + timedelta(days=1)
    store._clock = lambda: late
    assert runner.post("/runner/v1/alive", {"servings": [HANDLE]}, "north").json() == {"wanted": [HANDLE]}
    assert hand_in(runner, b"what was left").status_code == 204


def test_what_nobody_waits_for_any_more_is_removed_when_a_service_starts(runner):
    start(runner)
    hand_in(runner, b"what was left")
    fleet, catch_up = runner.house.runners.fleet, runner.house.execution.catch_up
    catch_up()
    assert fleet.handed_in.handles() == [HANDLE], "somebody may wait for it"
    late = fleet.runners.now() + timedelta(days=1)
    fleet.runners._clock = lambda: late
    catch_up()
    assert fleet.handed_in.handles() == []
    assert fleet.runners.serving(HANDLE).state == "closed"


def test_what_a_killed_process_had_begun_to_receive_is_removed_when_a_service_starts(runner):
    start(runner)
    hand_in(runner, b"what was left")
    place = runner.house.home.places.handed_in
    left, received = place / f"{HANDLE}.0.part", place / f"{HANDLE}.1.part"
    left.touch()
    with received.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        runner.house.execution.catch_up()
    assert sorted(path.name for path in place.iterdir()) == [received.name, f"{HANDLE}.sealed"]


@pytest.mark.parametrize(("agent_started", "state"), [(True, "lost"), (False, "unbegun")])
def test_a_serving_that_ended_without_a_hand_in_is_reported_once(runner, problem, agent_started, state):
    where = f"/runner/v1/servings/{HANDLE}/failure"
    start(runner)
    for _ in range(2):
        assert runner.post(where, {"agent_started": agent_started}, "north").status_code == 204
    assert runner.house.runners.store.serving(HANDLE).state == state
    assert problem(hand_in(runner, b"x")) == "conflict"


def test_the_end_of_a_serving_whose_start_is_being_recorded_is_to_be_reported_again(runner, problem):
    offer(runner)
    runner.ask("POST", "/runner/v1/work?seconds=0", "north")
    runner.ask("POST", f"/runner/v1/servings/{HANDLE}/start", "north")
    answer = runner.post(f"/runner/v1/servings/{HANDLE}/failure", {"agent_started": False}, "north")
    assert (answer.status_code, problem(answer)) == (503, "unavailable")


def test_another_runner_and_a_revoked_one_hand_nothing_in(runner, problem):
    start(runner)
    runner.tokens["south"] = runner.house.runners.store.add("south", 90)
    assert problem(hand_in(runner, b"x", "south")) == "conflict"
    runner.house.runners.store.revoke("north")
    assert problem(hand_in(runner, b"x")) == "unauthenticated"
    assert not runner.house.home.places.handed_in.exists()


def test_a_hand_in_over_its_cap_leaves_nothing(runner, problem, monkeypatch):
    monkeypatch.setattr(hand_in_folder, "MAX_SEALED", 100)
    start(runner)
    assert problem(hand_in(runner, b"x" * 101)) == "too-large"
    assert not list(runner.house.home.places.handed_in.iterdir())
    assert hand_in(runner, b"x" * 100).status_code == 204


def test_a_hand_in_may_be_longer_than_other_bodies(runner):
    start(runner)
    body = b"x" * (2 * runner.house.home.settings.service.body_bytes)
    assert hand_in(runner, body).status_code == 204
    assert runner.house.runners.fleet.handed_in.read(HANDLE) == body


def test_a_runner_is_told_which_of_its_servings_are_still_wanted(runner):
    start(runner)
    named = {"servings": [HANDLE, "s-" + "2" * 32]}
    assert runner.post("/runner/v1/alive", named, "north").json() == {"wanted": [HANDLE]}
    runner.house.runners.fleet.dispatcher.close(HANDLE)
    assert runner.post("/runner/v1/alive", named, "north").json() == {"wanted": [HANDLE]}, "its run may be resumed"
    runner.house.runners.store.close(HANDLE)
    assert runner.post("/runner/v1/alive", named, "north").json() == {"wanted": []}
