"""Tests of the whole attack suite: its contents, its reference page, and what becomes of a part that was lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn_attacks import suite
from quarterturn_attacks.reference import GROUPS, page
from quarterturn_attacks.suite import attack, attempts
from sandbox.attacks import Attempt, Spec
from sandbox.attacks.harness.attempt import catalogue
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Lost

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "attacks.md"


def test_the_page_says_what_the_catalogue_says():
    assert PAGE.read_text() == page(), "python -m quarterturn_attacks.reference > docs/reference/attacks.md"


def test_every_group_has_attempts_and_every_attempt_one_group_and_one_control():
    specs = attempts().values()
    assert len(specs) >= 200
    assert {spec.group for spec in specs} == set(GROUPS)
    assert all(spec.control for spec in specs)
    assert sum(spec.short for spec in specs) > 100
    assert {spec.group for spec in specs if spec.short} == {"network", "kernel", "files", "resources"}


def test_no_name_stands_for_two_attempts():
    parts = [set(part.ATTEMPTS) for part in suite.PARTS]
    assert len(set.union(*parts)) == sum(map(len, parts))
    with pytest.raises(ValueError, match="one name"):
        catalogue(Spec("tcp", "network", "no route"), Spec("tcp", "kernel", "seccomp"))


class Part:
    """A part of the suite that a test invents."""

    def __init__(self, *specs, ends=None, found=None):
        self.ATTEMPTS = catalogue(*specs)
        self.ends, self.found = ends or {}, found or {}

    def run(self, box, names):
        for name in names:
            if name in self.ends:
                spec = self.ATTEMPTS[name]
                yield Attempt(name, spec.group, spec.control, self.ends[name], "")

    def controls(self, box, names):
        return {name: through for name, through in self.found.items() if name in names}


@pytest.fixture
def parts(monkeypatch):
    one = Part(
        Spec("tcp", "network", "no route", short=True),
        Spec("flood", "gateway", "a cap"),
        ends={"tcp": "blocked", "flood": "bounded"},
        found={"tcp": True},
    )
    other = Part(Spec("stay", "persistence", "a fresh place"), ends={"stay": "escaped"})
    monkeypatch.setattr(suite, "PARTS", (one, other))
    return one, other


def test_every_result_is_reported_as_it_ends_with_its_control_where_there_is_one(parts):
    reported = []
    made = attack(None, controls=True, done=reported.append)
    assert [(one.name, one.control_succeeded) for one in made] == [("tcp", True), ("flood", None), ("stay", None)]
    assert reported == made
    assert [one.name for one in attack(None, groups={"gateway", "persistence"})] == ["flood", "stay"]


def test_attempts_that_were_not_made_are_named(parts):
    one, _ = parts
    del one.ends["flood"]
    with pytest.raises(Lost, match="attack on the bwrap box stopped before flood"):
        attack(BwrapBox())


def test_a_part_that_was_lost_ends_the_suite_after_the_others_were_made(parts):
    def lost(box, names):
        yield Attempt("tcp", "network", "no route", "blocked", "")
        raise Lost("the drill flood did not run to its end")

    parts[0].run, reported = lost, []
    with pytest.raises(Lost, match="the drill flood did not"):
        attack(None, done=reported.append)
    assert [one.name for one in reported] == ["tcp", "stay"]


def test_an_attempt_without_controls_says_that_none_was_tried():
    made = Attempt("tcp", "network", "no route", "blocked", "")
    assert made.control_succeeded is None
    assert replace(made, control_succeeded=False) != made
