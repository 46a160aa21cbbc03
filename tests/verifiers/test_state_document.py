"""Tests of a state's JSON form: what is written is read back, and nothing else is taken."""

from __future__ import annotations

import json

import pytest

from verifiers.errors import Malformed
from verifiers.formats.state_document import document_of, tree_of
from verifiers.tree import DIRECTORY, FileTree, Node

FILES = FileTree(
    {
        "notes": DIRECTORY,
        "notes/é.txt": Node("file", data=b"\x00\xff", mode=0o600),
        "empty": Node("file"),
        "link": Node("symlink", target="../notes", mode=0o777),
        "pipe": Node("other", mode=0o644),
    }
)
FILE = {"kind": "file", "mode": 420, "data": "aGk="}


def test_every_kind_of_entry_comes_back_as_it_was():
    document = json.loads(json.dumps(document_of({"filesystem": FILES, "git": FileTree({})})))
    assert document["filesystem"]["notes/é.txt"] == {"kind": "file", "mode": 0o600, "data": "AP8="}
    tree = tree_of(document)
    assert tree.below("filesystem") == FILES
    assert (tree["git"], dict(tree.below("git"))) == (DIRECTORY, {})


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "$ must be an object"),
        ({"../a": {}}, "is no namespace"),
        ({"filesystem": []}, "$.filesystem must be an object"),
        ({"filesystem": {"a": "text"}}, "$.filesystem['a'] must be an object"),
        ({"filesystem": {"a": FILE | {"kind": "fifo"}}}, "needs a `kind` of file, directory, symlink, other"),
        ({"filesystem": {"a": FILE | {"mode": True}}}, "a `mode` of 0 to 4095"),
        ({"filesystem": {"a": FILE | {"mode": 0o10000}}}, "a `mode` of 0 to 4095"),
        ({"filesystem": {"a": FILE | {"data": "a"}}}, "$.filesystem['a'].data is not base64"),
        ({"filesystem": {"a": FILE | {"data": "é"}}}, "$.filesystem['a'].data is not base64"),
        ({"filesystem": {"a": FILE | {"data": 1}}}, "must have exactly data, kind, mode"),
        ({"filesystem": {"a": FILE | {"target": "b"}}}, "must have exactly data, kind, mode"),
        ({"filesystem": {"a": {"kind": "symlink", "mode": 0}}}, "must have exactly kind, mode, target"),
        ({"filesystem": {"a": {"kind": "directory", "mode": 0, "data": ""}}}, "must have exactly kind, mode"),
    ],
)
def test_another_shape_is_refused_with_its_place(document, place):
    with pytest.raises(Malformed) as raised:
        tree_of(document)
    assert place in str(raised.value)
