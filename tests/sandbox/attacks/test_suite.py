"""Tests of the self-check: a missing control is reported, and no attempt exceeds its limit."""

import contextlib

import pytest

from sandbox.attacks import Attempt, Spec, inside_suite, selfcheck, suite
from sandbox.attacks.harness import isolated_attempts
from sandbox.attacks.harness.attempt import catalogue
from sandbox.boxes import policy
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.bwrap.bwrap import Walls
from sandbox.boxes.docker.box import DockerBox

from ...sampling import sample

WATCHED = ("io-uring", "af-vsock", "write-root", "open-files", "capabilities", "32-bit-program", "tcp")


class Unfiltered(Walls):
    """Isolation by bwrap without the filter."""

    def add(self, *words):
        if "--seccomp" not in words:
            super().add(*words)


@pytest.mark.box
@pytest.mark.parametrize(("walls", "out"), [(Unfiltered, {"io-uring", "af-vsock", "32-bit-program"}), (Walls, set())])
def test_a_box_with_one_control_less_lets_out_what_that_one_stops(walls, out):
    box = BwrapBox()
    box.walls = walls
    assert {attempt.name for attempt in inside_suite.run(box, WATCHED) if attempt.outcome == "escaped"} == out


class Hole(DockerBox):
    """A Docker box whose agents are root on a writable root."""

    def _create(self, walled, undo: contextlib.ExitStack):
        document = walled.document()
        if walled.uid == policy.AGENT_UID:
            document["HostConfig"]["ReadonlyRootfs"] = False
            document["User"] = "0:0"
        container = self._engine.create(document)
        undo.callback(container.remove)
        return container


@pytest.mark.engine
def test_the_same_of_the_docker_box():
    names = (*WATCHED, "become-root", "writable-mounts")
    out = {attempt.name for attempt in inside_suite.run(Hole(), names) if attempt.outcome == "escaped"}
    assert out == {"write-root", "become-root", "writable-mounts"}


APART = [name for name, row in inside_suite.ROWS.items() if row.apart]
DEAR = {"log-flood"}  # an engine copies its gigabyte several times; its controls and the contract have a shorter one
IN_DOCKER = [pytest.param(DockerBox, name, marks=pytest.mark.engine) for name in APART]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "name"),
    [
        *(pytest.param(BwrapBox, name, marks=pytest.mark.box) for name in APART),
        *sample(IN_DOCKER, keep=[case for case in IN_DOCKER if case.values[1] not in DEAR]),
    ],
)
@pytest.mark.needs("root")
def test_an_attempt_in_a_place_of_its_own_reaches_its_limit_and_no_further(box, name):
    outcome, detail = isolated_attempts.make(box(), name)
    assert outcome == "bounded", detail


class Part:
    """A part of the suite that a test invents."""

    ATTEMPTS = catalogue(Spec("tcp", "network", "no route", short=True), Spec("flood", "gateway", "a cap"))

    def run(self, box, names):
        for name in names:
            yield Attempt(name, "network", "no route", "blocked", "")


def test_the_short_form_makes_the_short_ones_and_no_controls(monkeypatch):
    monkeypatch.setattr(suite, "SHORT", (Part(),))
    assert [(made.name, made.control_succeeded) for made in selfcheck(None)] == [("tcp", None)]
