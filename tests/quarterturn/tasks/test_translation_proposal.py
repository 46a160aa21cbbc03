"""Tests of proposed wordings: shown beside English goals, and in the grammar only once a person approves."""

import pytest

from grammars.errors import Malformed
from grammars.language.load import load
from quarterturn.errors import Refused
from quarterturn.tasks.translation_proposal import accept, examples

from ...grammars.conftest import SMALL

GERMAN = """
grammar: filesystem
language: de
templates:
  note:
    phrasings: ["Schreib {kind.phrase} {lines}.", "{kind.Phrase} {lines}, bitte.", "Jetzt: {kind.phrase} {lines}"]
    phrases: {low: "die kleinen von {name}", high: "die großen von {name}"}
"""


def test_a_proposal_is_shown_beside_english_and_taken_in_with_an_approval(tmp_path):
    folder, proposal = tmp_path / "own", tmp_path / "de.yaml"
    folder.mkdir()
    (folder / "small.yaml").write_text(SMALL)
    proposal.write_text(GERMAN.replace("kleinen von {name}", "kleinen"))
    with pytest.raises(Malformed, match=r"language de, phrasing 1: .* stands in the English goal"):
        examples(folder, proposal)
    proposal.write_text(GERMAN)
    shown = [line for example in examples(folder, proposal) for line in example.lines()]
    assert shown[0] == "filesystem/note:low"
    assert shown[1].startswith("  en     Write the low ones of ")
    assert shown[4].startswith("  de     Schreib die kleinen von ")
    assert load(folder).templates["note"].translations == {}
    accept(proposal, folder, "Ada")
    assert load(folder).templates["note"].translations.keys() == {"de"}
    assert (folder / "de.yaml").read_text().startswith("# Approved by Ada.\n")
    with pytest.raises(Refused, match=r"has a file de.yaml already"):
        examples(folder, proposal)
