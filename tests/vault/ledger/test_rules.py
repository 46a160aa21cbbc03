"""Tests of the rules: each is asked for somewhere, by its name, and an error of it carries what disagrees."""

import ast
from pathlib import Path

import pytest

from vault.errors import Broken, Disagreement
from vault.ledger.statements.rules import RULES, agree, disagreement, require

LEDGER = Path(__file__).resolve().parents[3] / "vault" / "ledger"
ASKING = {"agree", "disagreement", "doubt", "require", "require_opens"}


def calls():
    """Yield each call that names a rule, with its place."""
    for path in sorted(LEDGER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ASKING:
                yield f"{path.relative_to(LEDGER)}:{node.lineno}", node


def test_every_rule_is_asked_for_and_no_other():
    named = {call.args[0].value: place for place, call in calls() if isinstance(call.args[0], ast.Constant)}
    assert named.keys() == RULES.keys(), named.keys() ^ RULES.keys()


def test_every_disagreement_says_where():
    assert not [place for place, call in calls() if len(call.args) < 2]


def test_sentences_are_distinct_and_begin_like_the_rest_of_one():
    assert len(set(RULES.values())) == len(RULES)
    assert not [name for name, sentence in RULES.items() if sentence[0].isupper() or sentence.endswith(".")]


def test_values_that_agree_pass_and_others_are_shown():
    agree("set.root", "leaf 3", b"\1", b"\1")
    with pytest.raises(Broken) as caught:
        agree("set.root", "leaf 3", b"\1", b"\2")
    assert (caught.value.rule, str(caught.value)) == ("set.root", RULES["set.root"])
    assert caught.value.evidence == Disagreement("leaf 3", b"\1", b"\2")


def test_what_holds_passes_and_what_does_not_is_shown():
    require("set.plan", True, "leaf 3", 2, 3)
    with pytest.raises(Broken) as caught:
        require("set.plan", False, "leaf 3", 2, 3)
    assert (caught.value.rule, caught.value.evidence) == ("set.plan", Disagreement("leaf 3", 2, 3))


def test_another_message_keeps_the_rule():
    error = disagreement("set.root", "$.root").with_message("leaf 3: no", "leaf 3")
    assert (error.rule, error.evidence) == ("set.root", Disagreement("leaf 3: $.root"))
