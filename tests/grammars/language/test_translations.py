"""Tests of translations: goals in other languages, what a translation file may say, and the values it has to keep."""

import re
from random import Random

import pytest

from grammars.admission.coverage import check
from grammars.draw.sample import sample
from grammars.errors import Exhausted, Malformed
from grammars.language.load import parse
from grammars.language.traits import languages
from vault.task.document import Task

GERMAN = """
grammar: filesystem
language: de
templates:
  note:
    phrasings: ["Schreib {kind.phrase} {lines}.", "{kind.Phrase} {lines}, bitte.", "Jetzt: {kind.phrase} {lines}"]
    phrases: {low: "die kleinen von {name}", high: "die großen von {name}"}
"""


def translated(small, german=GERMAN):
    return parse({"small.yaml": small, "de.yaml": german}, {})


def test_a_goal_is_drawn_in_another_language_and_everything_else_is_as_in_english(small, grammar):
    both = translated(small)
    assert set(languages(both).values()) == {frozenset({"de"})}
    english, german, plain = (
        sample(both, Random(7)),
        sample(both, Random(7), language="de"),
        sample(grammar, Random(7)),
    )
    assert english.task == plain.task
    assert german.task == {**english.task, "language": "de", "goal": german.task["goal"]}
    assert re.search(r"die (kleinen|großen) von", german.task["goal"])
    assert re.search(r"the (low|high) ones of", german.provenance["goal_in_english"])
    assert (Task.parse(german.task).language, Task.parse(english.task).language) == ("de", "en")
    with pytest.raises(Exhausted, match="no template of the filesystem grammar has wordings in fr; it has de, en"):
        sample(both, Random(7), language="fr")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("language: de", "language: en", "de.yaml: language: a BCP 47 tag other than en"),
        ("  note:", "  notes:", "de.yaml: template notes: the grammar has no template of that name"),
        (', "Jetzt: {kind.phrase} {lines}"', "", "phrasings: at least 3 different ones"),
        ("{low:", "{lower:", "de.yaml: template note: phrases: unknown key 'lower'"),
        (', high: "die großen von {name}"', "", "phrases.high: the de wording lacks the phrase"),
        ("{kind.Phrase} {lines}", "Zahlen: {lines}", "one of them does not say {kind.phrase}"),
        ("kleinen von {name}", "kleinen von {fruit}", "there is no name 'fruit'"),
        ("    phrases:", "    answer: x\n    phrases:", "unknown key 'answer'"),
        ("templates:", "tools: {}\ntemplates:", "a translation file holds wordings alone: unknown key 'tools'"),
    ],
)
def test_a_wrong_translation_is_refused_with_its_place(small, before, after, message):
    assert before in GERMAN
    with pytest.raises(Malformed, match=re.escape(message)):
        translated(small, GERMAN.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "kleinen von {name}",
            "kleinen von Obst",
            r"language de, phrasing 1: '(apple|pear|plum)' stands in the English",
        ),
        (
            "Schreib {kind.phrase} {lines}.",
            "Schreib {kind.phrase} ein paar.",
            r"phrasing 1: '\d+' stands in the English",
        ),
        ("{lines}, bitte", "{lines}, /data/files, bitte", r"phrasing 2: '/data/files' stands in no English goal"),
    ],
)
def test_a_translation_that_loses_a_value_or_says_another_is_found_by_drawing(small, before, after, message):
    assert before in GERMAN
    assert [entry.languages for entry in check(translated(small))] == [["de"]]
    with pytest.raises(Malformed, match=message):
        check(translated(small, GERMAN.replace(before, after, 1)))
