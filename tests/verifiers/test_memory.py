"""Tests of the predicates on a knowledge graph."""

import json
from dataclasses import replace

import pytest

from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.graph.examples import memory_graph
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("memory")

ANN = ("Ann", "person", ["likes tea", "is 40"])
BOB = ("Bob", "person", [])


def test_a_relation_has_a_direction_and_ends_that_are_there():
    tied = {"relationType": "knows"}
    views = memory_graph([ANN, BOB], [("Ann", "knows", "Bob")])
    assert holds(views, "relationExists", source="Ann", target="Bob", **tied)
    assert not holds(views, "relationExists", source="Bob", target="Ann", **tied)
    for there in (ANN, BOB):
        loose = memory_graph([there], [("Ann", "knows", "Bob")])
        assert not holds(loose, "relationExists", source="Ann", target="Bob", **tied)
        assert not holds(loose, "noDanglingRelations")


def test_observations_are_word_for_word_unless_a_part_is_asked_for():
    views = memory_graph([ANN], [])
    assert not holds(views, "observationExists", name="Ann", observation="Likes tea")
    assert holds(views, "observationMatches", name="Ann", text="TEA")
    assert holds(views, "observationsEqual", name="Ann", observations=["is 40", "likes tea"])
    assert not holds(views, "observationsEqual", name="Ann", observations=["likes tea"])


def test_a_duplicate_entity_satisfies_nothing():
    views = memory_graph([ANN, ("Ann", "robot", [])], [])
    assert not holds(views, "observationExists", name="Ann", observation="likes tea")
    assert holds(views, "entityCount", count=2)
    assert not holds(views, "entitiesEqual", names=["Ann"])


def test_no_file_is_an_empty_graph():
    assert holds(JudgeInput({"memory": FileTree({})}), "entityCount", count=0)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff",
        b"5",
        b'{"type": "other"}',
        b'{"type": "entity", "name": "Ann"}',
        b'{"type": "entity", "name": 5, "entityType": "x", "observations": []}',
        b'{"type": "entity", "name": "Ann", "entityType": "x", "observations": [5]}',
        b'{"type": "relation", "from": "Ann", "to": null, "relationType": "x"}',
        b"[" * 100_000,
    ],
)
def test_wreckage_counts_against_the_agent_on_either_side_of_a_not(content):
    views = JudgeInput({"memory": FileTree({"memory.jsonl": Node("file", content)})})
    holds.wins_nothing(views, "entityExists", name="Ann")


def test_a_link_in_place_of_the_file_is_wreckage():
    views = JudgeInput({"memory": FileTree({"memory.jsonl": Node("symlink", target="/etc/passwd")})})
    assert holds.denied(views, "entityExists", name="Ann") is Verdict.FALSE


def test_an_empty_line_and_other_keys_do_not_count_but_in_a_frame():
    lines = [{"type": "entity", "name": "Ann", "entityType": "x", "observations": [], "more": 1}, None]
    text = "\n\n".join(json.dumps(line) if line else "" for line in lines)
    run, plain = (
        JudgeInput({"memory": FileTree({"memory.jsonl": Node("file", data.encode())})})
        for data in (text, text.replace(', "more": 1', ""))
    )
    assert holds(run, "entityExists", name="Ann")
    frame = judge(parse({"memory.unchanged": {}}), replace(run, baseline=plain.states))
    assert frame.found.endswith("other keys of entity Ann, added")
