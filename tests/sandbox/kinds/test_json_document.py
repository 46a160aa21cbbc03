"""Tests of the seed of a JSON document, and of its mutations, proposed and applied."""

from dataclasses import replace

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.json_document.apply_mutation import mutate
from sandbox.kinds.json_document.proposed_mutations import BROKEN, mistakes
from sandbox.kinds.json_document.seed import STATE, seed
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.json_document.reader import document_of
from verifiers.tree import FileTree, Node


def tree(document):
    return seed({"document": document})


def test_a_state_is_the_document_whatever_the_order_of_its_keys():
    state = {"document": {"b": "ü", "a": [1, None, {"y": 1.5, "x": True}]}}
    check(STATE, state, "the state")
    assert document_of(seed(state)) == state["document"]
    assert seed(state) == tree({"a": [1, None, {"x": True, "y": 1.5}], "b": "ü"})
    assert not seed({})
    assert seed(state)["state.json"].data.startswith(b'{\n  "a": [\n    1,')


@pytest.mark.parametrize("state", [{"document": 5}, {"document": None}, {"document": {}, "more": 1}])
def test_another_state_is_refused(state):
    with pytest.raises(Malformed, match="the state"):
        check(STATE, state, "the state")


def test_half_of_a_surrogate_pair_is_refused():
    with pytest.raises(Malformed, match="surrogate"):
        tree({"a": "\ud800"})


@pytest.mark.parametrize(
    ("change", "document"),
    [
        ({"set": {"pointer": "/l/0", "value": {"n": 2}}}, {"l": [{"n": 2}, "b"], "a/b": 5}),
        ({"set": {"pointer": "/new", "value": None}}, {"l": ["a", "b"], "a/b": 5, "new": None}),
        ({"set": {"pointer": "/a~1b", "value": 6}}, {"l": ["a", "b"], "a/b": 6}),
        ({"set": {"pointer": "", "value": []}}, []),
        ({"delete": "/l/0"}, {"l": ["b"], "a/b": 5}),
        ({"delete": "/a~1b"}, {"l": ["a", "b"]}),
        ({"append": {"pointer": "/l", "item": "c"}}, {"l": ["a", "b", "c"], "a/b": 5}),
    ],
)
def test_each_change_changes_one_thing(change, document):
    before = tree({"l": ["a", "b"], "a/b": 5})
    assert mutate(before, change) == tree(document)
    assert before == tree({"l": ["a", "b"], "a/b": 5})


def test_the_whole_document_can_be_deleted_and_what_lies_beside_it_stays():
    other = Node("file", b"x")
    assert mutate(FileTree({**tree([]), "log": other}), {"delete": ""}) == FileTree({"log": other})


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"delete": "l"},
        {"delete": "/l/2"},
        {"delete": "/l/-"},
        {"delete": "/x"},
        {"set": {"pointer": "/l/2", "value": 1}},
        {"set": {"pointer": "/x/y", "value": 1}},
        {"set": {"pointer": "/n/y", "value": 1}},
        {"append": {"pointer": "", "item": 1}},
        {"append": {"pointer": "/x", "item": 1}},
        {"delete": "/l", "append": {"pointer": "/l", "item": 1}},
    ],
)
def test_a_change_that_does_not_fit_is_refused(change):
    with pytest.raises(Malformed, match="the JSON document change"):
        mutate(tree({"l": ["a", "b"], "n": 5}), change)


@pytest.mark.parametrize(
    ("state", "reason"),
    [(FileTree({}), r"no state\.json"), (FileTree({"state.json": Node("file", b"{")}), "strict JSON")],
)
def test_a_state_without_a_sound_document_cannot_be_changed(state, reason):
    with pytest.raises(Malformed, match=reason):
        mutate(state, {"delete": "/a"})


@pytest.mark.parametrize(
    ("document", "probe"),
    [
        ([], {"json_document.exists": {"pointer": ""}}),
        ([["a"], ["a"]], {"json_document.exists": {"pointer": "/0/0"}}),
        ([1, 2], {"json_document.exists": {"pointer": "/0"}}),
        ({"a": 1}, {"json_document.valueEquals": {"pointer": "", "value": {"a": 1}}}),
        ({"a": "not this"}, {"json_document.valueEquals": {"pointer": "/a", "value": "not this"}}),
        ({"a": []}, {"json_document.itemsEqual": {"pointer": "/a", "items": []}}),
        ({"a": {}}, {"json_document.itemCount": {"pointer": "/a", "count": 0, "fields": {"x": 1}}}),
        ([{"x": 1}], {"json_document.itemExists": {"pointer": "", "fields": {"x": 1}}}),
    ],
)
def test_a_predicate_is_broken_at_the_edges_too(document, probe):
    ((name, arguments),) = probe.items()
    views = CATALOGUE[name].example.holds()
    whole = replace(views, states={"json_document": tree(document)})
    broken = replace(views, states={"json_document": mutate(tree(document), BROKEN[name](arguments))})
    assert judge(parse(probe), whole).verdict is Verdict.TRUE
    assert judge(parse(probe), broken).verdict is Verdict.FALSE


def made(before, after):
    """Make each mutation, check that it changes something, and give their kinds with their places."""
    proposed = list(mistakes(tree(before), tree(after)))
    for name, change in proposed:
        assert mutate(tree(after), change) != tree(after), name
    return {name for name, _ in proposed}


def test_typical_mutations_follow_from_what_the_solution_changed():
    old = {"tasks": [{"id": 1, "done": False}, {"id": 2, "done": False}], "gone": 1, "same": "x"}
    new = {"tasks": [{"id": 1, "done": True}, {"id": 2, "done": False}], "same": "x", "a/b": "Two"}
    assert made(old, new) == {
        "not-changed /tasks/0/done",
        "other-way-round /tasks/0/done",
        "other-value-removed /tasks/0/id",
        "other-item-removed /tasks/1",
        "not-removed /gone",
        "left-out /a~1b",
        "wrong-case /a~1b",
        "other-value-removed /same",
    }


def test_an_item_that_was_added_or_taken_away_is_found():
    assert made([{"n": 1}, {"n": 2}], [{"n": 1}, {"n": 2}, {"n": 3}]) == {
        "left-out /2",
        "doubled /2",
        "off-by-one /2/n",
        "other-item-removed /0",
    }
    assert made([{"n": 1}, {"n": 2}], [{"n": 2}]) == {"not-removed /0", "other-item-removed /0"}
    assert made({"a": [1]}, {"a": [1]}) == set()
    assert list(mistakes(FileTree({}), tree([]))) == []
