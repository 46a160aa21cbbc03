"""Tests of the rules of display names: their form, what is reserved, and which names count as the same."""

import unicodedata

import pytest

from quarterturn.display_names import rules
from quarterturn.errors import Malformed


@pytest.mark.parametrize("name", ["Falcon", "Falcon 7B", "gpt-4.1_mini", "A1", "a" * 40, "b" * 39 + "1"])
def test_a_name_of_the_form_is_taken_and_normalization_does_not_change_it(name):
    rules.require(name)
    assert unicodedata.normalize("NFKC", name) == name


@pytest.mark.parametrize(
    "name",
    [
        "", "a", "a" * 41, "7B", " Falcon", "Falcon ", "Fal  con", "Fal.-con", "-x", "x-", "ada/mine", "Falcon\n",
        "F\u0430lcon",  # with a Cyrillic a
        "\uff26alcon", "Fal\u200bcon", "Fal\tcon", "Größe", "<b>", "x" + "\u202e" + "y",
    ],
)  # fmt: skip
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(Malformed, match="2 to 40 ASCII"):
        rules.require(name)


@pytest.mark.parametrize(
    "name",
    [
        "official", "The Official Agent", "Un0fficial", "Off icial", "un-official", "Big 0racIe", "Baseline 2",
        "Base.line", "Quarterturn team", "verified by us", "Admin", "nu11", "Rulebook", "rule-book", "MAINTAINER",
    ],
)  # fmt: skip
def test_a_name_that_claims_what_only_the_operator_may_say_is_refused(name):
    with pytest.raises(rules.ReservedName, match="reserved"):
        rules.require(name)


@pytest.mark.parametrize("name", ["Nullarbor", "Badminton", "Humane", "Ladder climber", "Coral"])
def test_a_reserved_whole_name_may_be_a_part_of_another(name):
    rules.require(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Falcon", "falcon"), ("Falcon", "F-a.l_c o-n"), ("Falcon", "Falc0n"), ("Falcon", "FaIcon"),
        ("Falcon", "Fa1con"), ("Modern", "Modem"), ("Wave", "VVave"), ("Agent 10", "Agent lO"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_the_same(name, other):
    assert rules.key_of(name) == rules.key_of(other)


def test_names_that_differ_are_not_the_same():
    names = ["Falcon", "Falcons", "Falcon 2", "Falcon 3", "Malcon", "Talcon"]
    assert len(set(map(rules.key_of, names))) == len(names)
