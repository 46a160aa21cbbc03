"""Tests of choices that contain each other: found in a list, and never drawn from dictionaries."""

from random import Random

from grammars.language.containment import composition, contained
from grammars.language.expressions import Scope
from grammars.language.ranges import parse_range

SHORE = ["sea-shore", "Seas hore", "amber-record", "amber-records", "slate-row", "late-row", "oak-file"]


def test_choices_that_stand_in_another_one_are_found_whatever_their_case_and_signs():
    assert contained(SHORE) == ["sea-shore", "Seas hore", "amber-record", "late-row"]
    assert contained(["oak-file", "elm-file"]) == []


def test_a_text_joined_from_dictionaries_is_known_to_contain_another_one():
    words = composition((("late", "slate", "sea", "seas"), ("row", "hells", "shells")))
    said = {text: words.contains_another(text) for text in ("slate-row", "late-row", "sea-shells", "seas-hells")}
    assert said == {"slate-row": True, "late-row": False, "sea-shells": True, "seas-hells": True}


def test_no_choice_of_composed_dictionaries_contains_another_one():
    lists = {
        "first": ["late", "slate", *(f"word{chr(97 + n)}" for n in range(20))],
        "second": ["row", "rows", *(f"end{chr(97 + n)}" for n in range(20))],
    }
    compose = parse_range({"compose": ["first", "second"], "with": "-"}, "here", lists, ("easy",))
    drawn = list(compose.values(Random(1), Scope({"difficulty": "easy"})))
    assert len(set(drawn)) == len(drawn)
    assert contained(drawn) == []
    assert {"late-row", "worda-row"} <= set(drawn)
    assert not {"slate-row", "late-rows", "worda-rows"} & set(drawn)


def test_different_entries_are_drawn_of_many_as_of_few():
    lists = {"first": [f"a{n}x" for n in range(90)], "second": [f"b{n}y" for n in range(90)]}
    compose = parse_range({"compose": ["first", "second"]}, "here", lists, ("easy",))
    drawn = list(compose.values(Random(1), Scope({"difficulty": "easy"})))
    assert len(set(drawn)) == len(drawn) == 4096
