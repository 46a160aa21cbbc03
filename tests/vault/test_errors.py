"""Tests of the evidence of errors: which raises give it, how it survives a new message, and how it is shown."""

import ast
import json
import pickle
from pathlib import Path

import pytest

from vault.errors import Broken, Disagreement, Malformed

ROOT = Path(__file__).resolve().parents[2]
HASH = bytes(range(32))


def raises_of_broken():
    for room in ("vault/ledger", "rotation", "quarterturn"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "Broken":
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", {keyword.arg for keyword in node.keywords}


def test_each_error_of_the_ledger_and_above_it_that_something_does_not_verify_says_where():
    made = dict(raises_of_broken())
    assert len(made) > 30
    assert not [place for place, given in made.items() if "where" not in given]


def test_an_error_without_evidence_is_its_sentence_alone():
    assert (str(Broken("no")), Broken("no").evidence) == ("no", None)


def test_a_new_message_keeps_the_class_and_the_evidence_and_adds_the_outer_place():
    error = Broken("the roots differ", where="hash 3", expected=HASH, found=b"")
    outer = error.with_message("the log: the roots differ", "log/tile/0/000")
    assert (type(outer), str(outer)) == (Broken, "the log: the roots differ")
    assert outer.evidence == Disagreement("log/tile/0/000: hash 3", HASH, b"")
    assert type(Malformed("x").with_message("y")) is Malformed
    assert Malformed("x").with_message("y").evidence is None
    assert Malformed("x").with_message("y", "leaf 1").evidence == Disagreement("leaf 1")


def test_evidence_survives_a_process_boundary():
    error = Broken("no", where="leaf 1", expected=1, found=2)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.evidence) == (str(error), error.evidence)


def test_json_has_values_whole_and_bytes_in_hex():
    long = b"\xab" * 5000
    evidence = Disagreement("leaf 1", {"root": HASH, "proof": (long,)}, [1, None, "text"])
    assert json.loads(json.dumps(evidence.as_json())) == {
        "where": "leaf 1",
        "expected": {"root": HASH.hex(), "proof": ["ab" * 5000]},
        "found": [1, None, "text"],
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (HASH, HASH.hex()),
        (12, "12"),
        (True, "true"),
        ("two words", "two words"),
        ({"b": HASH[:2], "a": [None]}, '{"a": [null], "b": "0001"}'),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "\u2026 (201 characters)"),
        (b"\0" * 200, "00" * 100 + "\u2026 (400 characters)"),
        ("\x1b[2J\n\udcff", "\\x1b[2J\\n\\udcff"),
    ],
)
def test_text_is_one_printable_line_a_value_and_states_the_length_of_a_long_one(value, text):
    assert list(Disagreement("leaf 1", value).lines()) == [f"expected {text}", "found nothing", "at leaf 1"]
    assert list(Disagreement(None, None, value).lines()) == ["expected nothing", f"found {text}"]
    assert list(Disagreement("leaf 1").lines()) == ["at leaf 1"]
