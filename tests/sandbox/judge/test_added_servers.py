"""Tests of verdicts about the state of an added server: predicates of its state kind and of its own."""

import json
import sqlite3
import sys
from dataclasses import replace

import pytest

from sandbox.judge.state_judge import MutatedCase
from sandbox.mutations.make import mutants
from verifiers.errors import Malformed
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.predicates import namespaces
from verifiers.predicates.own_predicates import OwnPredicates
from verifiers.tree import FileTree, Node

SOURCE = """
import json, sys

def isShort(state, most):
    text = json.dumps(state.document)
    sys.ran_here = True
    return len(text) <= most, f"{len(text)} characters"

def isDone(state, title):
    card = next(card for card in state.document["cards"] if card["title"] == title)
    return card["done"], "looked at it"

def breaks(state):
    raise ValueError("of the author's making")
"""
DECLARED = {
    "isShort": {
        "words": "at most {most} characters",
        "about": "It is short.",
        "arguments": {"most": {"type": "integer"}},
    },
    "isDone": {"words": "{title} is done", "about": "It is done.", "arguments": {"title": {"type": "string"}}},
    "breaks": {"words": "it breaks", "about": "It breaks.", "arguments": {}},
}
CARDS = {"cards": [{"title": "Pay", "done": True}]}
DONE = {"board.itemExists": {"pointer": "/cards", "fields": {"title": "Pay", "done": True}}}


def tree(document, name="state.json"):
    return FileTree({name: Node("file", json.dumps(document).encode())})


@pytest.fixture
def board(add_namespace):
    add_namespace("board", "json_document", OwnPredicates(DECLARED, SOURCE))


@pytest.mark.usefixtures("board")
def test_a_further_server_has_the_predicates_of_its_state_kind(judging, question, left):
    asked, state = question(DONE, "board"), left(board=tree(CARDS))
    assert judging.verdict(asked, state, None, lambda: state).verdict is Verdict.TRUE
    undone = [("board", {"set": {"pointer": "/cards/0/done", "value": False}})]
    assert judging.mutated(asked, state, [MutatedCase(undone, None)])[0].verdict is Verdict.FALSE
    assert "board.itemExists" in list(CATALOGUE)
    assert CATALOGUE["board.itemExists"].name == "board.itemExists"
    with pytest.raises(KeyError):
        CATALOGUE["board.nothing"]


@pytest.mark.usefixtures("board")
def test_a_conjunct_of_a_further_server_can_be_broken(judging, question, left):
    asked, state = question({"all": [DONE]}, "board"), left(board=tree(CARDS))
    broken = [mutant for mutant in mutants(asked.predicate, {}, {}, None) if mutant.kind == "broken"]
    assert broken
    assert judging.mutated(asked, state, [MutatedCase(broken[0].changes, None)])[0].verdict is Verdict.FALSE


@pytest.mark.usefixtures("board")
def test_a_file_of_another_name_is_read_as_the_kind_s_own_and_no_other_is(judging, question, left):
    asked = replace(question(DONE, "board"), files={"board": ("data/cards.json", "state.json")})
    state = left(board=tree(CARDS, "data/cards.json"))
    assert judging.verdict(asked, state, None, lambda: state).verdict is Verdict.TRUE
    elsewhere = left(board=tree(CARDS))
    assert judging.verdict(asked, elsewhere, None, lambda: state).verdict is Verdict.FALSE


@pytest.mark.usefixtures("board")
def test_a_predicate_of_its_own_runs_in_a_judge_of_its_own(judging, question, left):
    state = left(board=tree(CARDS))
    for most, verdict in ((1000, Verdict.TRUE), (3, Verdict.FALSE)):
        judged = judging.verdict(question({"board.isShort": {"most": most}}, "board"), state, None, lambda: state)
        assert judged.verdict is verdict
        assert "characters" in judged.evidence.found
    assert not hasattr(sys, "ran_here")
    broken = judging.verdict(question({"board.breaks": {}}, "board"), state, None, lambda: state)
    assert broken.verdict is Verdict.UNKNOWN, "it breaks on the untouched state too, which says nothing about the agent"


@pytest.mark.usefixtures("board")
def test_predicates_of_its_own_notice_damage_that_the_frame_lets_through(judging, question, left):
    frame = {"board.unchanged": {"except": [{"item": "value", "change": ["content"]}]}}
    before, after = ({"cards": [{"title": "Pay", "done": done}]} for done in (False, True))
    asked = question({"all": [{"board.isDone": {"title": "Pay"}}, {"board.isShort": {"most": 45}}, frame]}, "board")
    made = judging.mutants(asked, left(board=tree(before)), left(board=tree(after)), None)
    assert len([name for name, kind, _ in made if kind == "damage"]) > 3
    assert [(name, verdict) for name, _, verdict in made if verdict is not Verdict.FALSE] == []


@pytest.mark.usefixtures("board")
def test_arguments_of_its_own_predicates_are_checked_and_a_taken_name_is_refused():
    with pytest.raises(Malformed, match=r"board\.isShort.*most"):
        parse({"board.isShort": {"most": "many"}})
    with pytest.raises(Malformed, match="another name"):
        namespaces.add("redis", "files")
    with pytest.raises(Malformed, match="another name"):
        namespaces.add("answer", "files")
    with pytest.raises(Malformed, match="no state kind"):
        namespaces.add("notes", "cloud")


@pytest.fixture
def logged(tmp_path):
    """Return the files of a database whose rows all lie in its write-ahead log, as a killed server leaves them."""
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)")
    connection.execute("INSERT INTO orders VALUES (1, 'open')")
    connection.commit()
    files = {path.name: Node("file", path.read_bytes()) for path in tmp_path.iterdir()}
    connection.close()
    assert len(files["shop.db"].data) < len(files["shop.db-wal"].data)
    return files


@pytest.fixture
def shop(add_namespace):
    add_namespace("shop", "sqlite")


OPEN = {"shop.rowExists": {"table": "orders", "where": {"id": 1, "state": "open"}}}


@pytest.mark.usefixtures("shop")
def test_the_log_beside_a_database_of_another_name_is_read_with_it(judging, question, left, logged):
    asked = replace(question(OPEN, "shop"), files={"shop": ("shop.db", "main.db")})
    state = left(shop=FileTree(logged))
    assert judging.verdict(asked, state, None, lambda: state).verdict is Verdict.TRUE
    foreign = left(shop=FileTree({"shop.db": Node("file"), "main.db-wal": logged["shop.db-wal"]}))
    assert judging.verdict(asked, foreign, None, lambda: state).verdict is Verdict.FALSE


@pytest.mark.usefixtures("shop")
def test_a_mutation_changes_what_the_log_says(judging, question, left, logged):
    asked = replace(question(OPEN, "shop"), files={"shop": ("shop.db", "main.db")})
    state = left(shop=FileTree(logged))
    for sql, verdict in (("DELETE FROM orders", Verdict.FALSE), ("UPDATE orders SET id = id", Verdict.TRUE)):
        assert judging.mutated(asked, state, [MutatedCase([("shop", {"sql": sql})], None)])[0].verdict is verdict


@pytest.mark.usefixtures("shop")
def test_mutants_are_made_of_rows_that_only_the_log_has(logged):
    after = FileTree({name.replace("shop.db", "main.db"): node for name, node in logged.items()})
    made = mutants(parse(OPEN), {"shop": FileTree({"main.db": Node("file")})}, {"shop": after}, None)
    assert "row-left-out orders 1" in " ".join(mutant.name for mutant in made)
