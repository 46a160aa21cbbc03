"""Tests of the memory server's state: its file, and the graph in it mutated."""

import json

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.graph.apply_mutation import mutate
from sandbox.kinds.graph.kind import STATE, seed

from .holding import holds_in

ANN = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
BERN = {"name": "Bern", "entityType": "city", "observations": []}
LIVES = {"from": "Ann", "relationType": "lives in", "to": "Bern"}
GRAPH = {"entities": [ANN, BERN], "relations": [LIVES]}


holds = holds_in("memory")


def test_the_file_is_one_line_an_entity_or_a_relation():
    check(STATE, GRAPH, "the state")
    lines = [json.loads(line) for line in seed(GRAPH)["memory.jsonl"].data.decode().split("\n")]
    assert lines == [{"type": "entity", **ANN}, {"type": "entity", **BERN}, {"type": "relation", **LIVES}]
    assert seed({})["memory.jsonl"].data == b""


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"entities": [ANN, ANN]}, "'Ann' twice"),
        ({"entities": [ANN], "relations": [LIVES]}, "'Bern', which is no entity"),
        ({"entities": [{**ANN, "name": "\ud800"}]}, "surrogate"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(state, sentence):
    with pytest.raises(Malformed, match=sentence):
        seed(state)


def test_each_change_changes_one_thing():
    tree = seed(GRAPH)
    lives = {"source": "Ann", "relationType": "lives in", "target": "Bern"}
    assert holds(tree, "relationExists", **lives)
    for change in ({"unrelate": LIVES}, {"reverse": LIVES}, {"remove_entity": "Bern"}):
        assert not holds(mutate(tree, change), "relationExists", **lives)
    renamed = mutate(tree, {"rename_entity": {"from": "Bern", "to": "bern"}})
    assert holds(renamed, "relationExists", **{**lives, "target": "bern"})
    assert holds(mutate(tree, {"add_entity": {**ANN, "name": "ann"}}), "entityCount", count=3)
    retyped = mutate(tree, {"retype_entity": {"name": "Ann", "entityType": "robot"}})
    assert holds(retyped, "entityExists", name="Ann", entityType="robot")
    observed = mutate(tree, {"observe": {"name": "Ann", "observation": "is 40"}})
    assert holds(observed, "observationsEqual", name="Ann", observations=["is 40", "likes tea"])
    forgotten = mutate(tree, {"forget": {"name": "Ann", "observation": "likes tea"}})
    assert holds(forgotten, "observationsEqual", name="Ann", observations=[])
    assert holds(mutate(tree, {"relate": {**LIVES, "relationType": "likes"}}), "relationCount", count=2)


@pytest.mark.parametrize(
    "change",
    [
        {"remove_entity": "gone"},
        {"forget": {"name": "Ann", "observation": "gone"}},
        {"unrelate": {**LIVES, "relationType": "gone"}},
        {"remove_entity": "Ann", "relate": LIVES},
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="the memory change"):
        mutate(seed(GRAPH), change)
