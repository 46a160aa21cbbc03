"""Tests of `doctor --attack`: what it says of attempts, of those that escape, and of a suite that was lost."""

import os
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from quarterturn_attacks import attack_report
from quarterturn_attacks.suite import attempts
from sandbox.attacks import Attempt
from sandbox.errors import Lost


@pytest.fixture
def suite(monkeypatch):
    """Return a function that lets the suite end with these attempts, in a box that is not there."""
    monkeypatch.setattr(attack_report, "choose_box", lambda name: SimpleNamespace(name=name))

    def put(*made):
        def attack(box, *, controls, done):
            for attempt in made:
                if isinstance(attempt, Lost):
                    raise attempt
                done(replace(attempt, control_succeeded=attempt.control_succeeded if controls else None))

        monkeypatch.setattr(attack_report.suite, "attack", attack)
        monkeypatch.setattr(attack_report.network_link, "require", lambda: None)

    return put


@pytest.mark.parametrize(("outcome", "code"), [("blocked", 0), ("bounded", 0), ("escaped", 1)])
def test_an_attack_that_escapes_is_a_no(outcome, code, say, suite):
    suite(Attempt("egress-canary", "network", "a namespace", outcome, "what it met"))
    said = say("doctor", "--attack", "--box", "bwrap", "--json")
    assert (said.code, said.object["ok"]) == (code, code == 0)
    assert said.data == {
        "box": "bwrap",
        "attempts": [
            {"name": "egress-canary", "group": "network", "control": "a namespace", "outcome": outcome}
            | {"detail": "what it met"}
        ],
    }


def test_attempts_made_before_the_suite_was_lost_are_reported(say, suite):
    escaped = Attempt("tcp", "network", "no route", "escaped", "got there")
    suite(escaped, Lost("the drill x did not end (agent-timeout)"))
    said = say("doctor", "--attack", "--box", "bwrap")
    assert (said.code, said.out) == (6, "")
    assert said.err.index("tcp got out: got there") < said.err.index("the drill x did not end (agent-timeout)")


def test_with_controls_each_attempt_says_whether_its_control_got_through(say, suite):
    suite(
        Attempt("tcp", "network", "no route", "blocked", "", control_succeeded=True),
        Attempt("udp", "network", "no route", "blocked", "", control_succeeded=False),
        Attempt("x32-call", "kernel", "seccomp", "blocked", "", control_succeeded=None),
    )
    said = say("doctor", "--attack", "--box", "bwrap", "--with-controls", "--json")
    assert [attempt["control_succeeded"] for attempt in said.data["attempts"]] == [True, False, None]
    told = say("doctor", "--attack", "--box", "bwrap", "--with-controls").out
    assert "udp was stopped without its control too" in told
    assert "bits a private run" in told


def test_controls_are_refused_where_nobody_can_make_them(say, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = say("doctor", "--attack", "--box", "bwrap", "--with-controls", "--json")
    assert said.code == 6
    assert "run them as root, or leave them out" in said.err


@pytest.mark.slow
@pytest.mark.box
@pytest.mark.parametrize("groups", [{"kernel"}, pytest.param(None, marks=pytest.mark.exhaustive)], ids=str)
def test_the_box_of_this_machine_holds(say, monkeypatch, groups):
    monkeypatch.setattr(attack_report.suite, "attack", partial(attack_report.suite.attack, groups=groups))
    said = say("doctor", "--attack", "--box", "bwrap", "--json")
    assert said.code == 0, said.out
    assert not [attempt for attempt in said.data["attempts"] if attempt["outcome"] == "escaped"]
    wanted = {name for name, spec in attempts().items() if groups is None or spec.group in groups}
    assert {attempt["name"] for attempt in said.data["attempts"]} == wanted
    assert len(attempts()) >= 140
    assert "attacking the bwrap box" in said.err
