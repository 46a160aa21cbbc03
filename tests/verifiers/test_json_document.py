"""Tests of the predicates on a JSON document, and of its strict reader."""

import json

import pytest

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.formats.plain_json import MAX_BYTES, MAX_DEPTH
from verifiers.language.verdict import Verdict
from verifiers.normal_form import NormalState
from verifiers.states.json_document.examples import json_document
from verifiers.states.json_document.reader import document_of, read_document
from verifiers.states.readers import read
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("json_document")

CAKE = {"id": "task-1", "title": "Buy cake", "done": True, "made": {"id": 7, "at": "10:00", "cost": 2}}
GUESTS = {"id": "task-2", "title": "Invite", "done": False, "made": {"id": 8, "at": "10:01", "cost": 0.5}}
VIEWS = json_document({"tasks": [CAKE, GUESTS], "by/na~me": {"a": {"n": 1}, "b": {"n": 1}}, "none": None, "": 5})


def test_a_pointer_is_that_of_rfc_6901():
    assert holds(VIEWS, "valueEquals", pointer="/by~1na~0me/a/n", value=1)
    assert holds(VIEWS, "valueEquals", pointer="/", value=5)
    assert holds(VIEWS, "valueEquals", pointer="/none", value=None)
    assert holds(VIEWS, "exists", pointer="")
    for nowhere in ("/tasks/2", "/tasks/-", "/tasks/01", "/tasks/0/title/0", "/none/x", "/x"):
        assert not holds(VIEWS, "exists", pointer=nowhere)
        assert holds.denied(VIEWS, "exists", pointer=nowhere) is Verdict.TRUE


def test_types_count_and_the_way_a_number_is_written_does_not():
    views = json_document({"a": [1, 2**53 + 1, 0.0, True, "1"], "b": {"x": 1, "y": [2.0]}})
    assert holds(views, "valueEquals", pointer="/b", value={"y": [2], "x": 1.0})
    assert holds(views, "valueEquals", pointer="/a", value=[1.0, 2**53 + 1, -0.0, True, "1"])
    for index, other in ((0, True), (0, "1"), (1, float(2**53)), (1, 2**53), (2, False), (3, 1), (4, 1)):
        assert not holds(views, "valueEquals", pointer=f"/a/{index}", value=other)


def test_ignored_keys_count_nowhere_however_deep():
    wanted = {"title": "Buy cake", "done": True, "made": {"at": "11:00", "cost": 2, "by": "Ann"}}
    assert holds(VIEWS, "valueEquals", pointer="/tasks/0", value=wanted, ignore_keys=["id", "at", "by"])
    assert not holds(VIEWS, "valueEquals", pointer="/tasks/0", value=wanted, ignore_keys=["id", "at"])
    assert holds(VIEWS, "itemExists", pointer="/tasks", fields=wanted, exact=True, ignore_keys=["id", "at", "by"])


def test_an_item_has_the_fields_and_others_only_where_that_is_not_excluded():
    fields = {"title": "Invite", "done": False}
    assert holds(VIEWS, "itemExists", pointer="/tasks", fields=fields)
    assert not holds(VIEWS, "itemExists", pointer="/tasks", fields=fields, exact=True)
    assert holds(VIEWS, "itemExists", pointer="/tasks", fields=fields, exact=True, ignore_keys=["id", "made"])
    assert not holds(VIEWS, "itemExists", pointer="/tasks", fields={"title": "Invite", "done": True})
    assert not holds(VIEWS, "itemExists", pointer="/tasks", fields={"absent": None})
    assert not holds(json_document(["text", 5, None]), "itemExists", pointer="", fields={"a": 1})


def test_items_are_counted_in_a_list_and_in_an_object():
    assert holds(VIEWS, "itemCount", pointer="/tasks", count=2)
    assert holds(VIEWS, "itemCount", pointer="/tasks", count=1, fields={"done": True})
    assert holds(VIEWS, "itemCount", pointer="/by~1na~0me", count=2, fields={"n": 1})
    assert not holds(VIEWS, "itemCount", pointer="/none", count=0)


def test_equal_items_count_as_often_as_they_are_there():
    views = json_document({"list": ["a", "b", "a"], "object": {"x": 1, "y": 1.0}})
    assert holds(views, "itemsEqual", pointer="/list", items=["a", "a", "b"])
    assert not holds(views, "itemsEqual", pointer="/list", items=["a", "a", "b"], in_order=True)
    assert holds(views, "itemsEqual", pointer="/list", items=["a", "b", "a"], in_order=True)
    assert not holds(views, "itemsEqual", pointer="/list", items=["a", "b"])
    assert not holds(views, "itemsEqual", pointer="/list", items=["a", "b", "b"])
    assert holds(views, "itemsEqual", pointer="/object", items=[1, 1])


def test_a_text_contains_another_in_its_own_case():
    assert holds(VIEWS, "textContains", pointer="/tasks/0/title", text="cake")
    assert not holds(VIEWS, "textContains", pointer="/tasks/0/title", text="CAKE")
    assert holds(VIEWS, "textContains", pointer="/tasks/0/title", text="CAKE", ignore_case=True)
    assert not holds(VIEWS, "textContains", pointer="/tasks/0/done", text="true")


def test_without_a_file_there_is_nothing_and_other_files_do_not_count():
    views = JudgeInput({"json_document": FileTree({"other.json": Node("file", b"{")})})
    assert not holds(views, "exists", pointer="")
    assert not holds(views, "itemCount", pointer="", count=0)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"{} {}", b"\xff", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b'{"a": 1, "a": 1}',
        b'[{"a": {"b": 1, "\\u0062": 2}}]', b"[NaN]", b"[-Infinity]", b"[1e999]", b"[18446744073709551616]",
        b'["\\ud800"]', b'{"\\udc00": 1}', b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'"' + b"a" * MAX_BYTES + b'"',
    ],
    ids=lambda content: repr(content[:20]),
)  # fmt: skip
def test_what_is_no_strict_json_counts_against_the_agent_on_either_side_of_a_not(content):
    views = JudgeInput({"json_document": FileTree({"state.json": Node("file", content)})})
    holds.wins_nothing(views, "exists", pointer="")


@pytest.mark.parametrize("node", [Node("symlink", target="/etc/passwd"), Node("directory")])
def test_what_is_no_file_is_wreckage(node):
    views = JudgeInput({"json_document": FileTree({"state.json": node})})
    holds.wins_nothing(views, "exists", pointer="")


def test_the_reader_gives_the_document_and_pays_for_it():
    tree = FileTree(
        {"state.json": Node("file", json.dumps({"a": ["\U0001f600", None, 18446744073709551615]}).encode())}
    )
    assert read_document(tree, ReadingBudget()) == NormalState({"value": {"a": ["\U0001f600", None, 2**64 - 1]}})
    state = read("json_document", tree)
    assert state.bytes == len(tree["state.json"].data)
    assert state.steps > 0
    with pytest.raises(CorruptState, match="more than 3 steps"):
        document_of(tree, ReadingBudget(steps=3))


def test_the_deepest_document_can_be_compared():
    deep: list = []
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    assert holds(json_document([deep]), "itemsEqual", pointer="", items=[deep])
