"""Tests of the filesystem server's state: seeded from a document, and mutated."""

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.files.apply_mutation import mutate
from sandbox.kinds.files.kind import seed
from sandbox.servers.registry import SERVERS


def texts(tree):
    return {path: node.data.decode() for path, node in tree.items() if node.kind == "file"}


def test_files_bring_their_folders_and_empty_folders_stay():
    tree = seed({"files": {"a/b/c.txt": "hello", "raw": {"base64": "AP8="}}, "directories": ["empty/inside"]})
    assert sorted(tree) == ["a", "a/b", "a/b/c.txt", "empty", "empty/inside", "raw"]
    assert tree["raw"].data == b"\x00\xff"
    assert tree["empty/inside"].kind == "directory"


def test_the_same_state_gives_the_same_bytes_in_any_order():
    one = seed({"files": {"a": "1", "b/c": "2"}})
    other = seed({"files": {"b/c": "2", "a": "1"}})
    assert one.to_tar() == other.to_tar()


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"files": {"a": "", "a/b": ""}}, "'a/b'"),
        ({"files": {"a": ""}, "directories": ["a"]}, "'a'"),
        ({"files": {"a": ""}, "directories": ["a/b"]}, "'a'"),
        ({"files": {"a": {"base64": "not base64!"}}}, "'a'"),
        ({"files": {"a": "\ud800"}}, "'a'"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused_with_the_path(state, place):
    with pytest.raises(Malformed, match=place):
        seed(state)


def test_each_change_changes_one_thing():
    tree = seed({"files": {"in/a": "1", "in/b": "2"}})
    assert texts(mutate(tree, {"remove": "in/a"})) == {"in/b": "2"}
    assert texts(mutate(tree, {"write": {"path": "new/c", "text": "3"}})) == {**texts(tree), "new/c": "3"}
    assert texts(mutate(tree, {"move": {"from": "in", "to": "out/x"}})) == {"out/x/a": "1", "out/x/b": "2"}
    assert texts(mutate(tree, {"copy": {"from": "in/a", "to": "a"}})) == {**texts(tree), "a": "1"}
    assert "d/e" in mutate(tree, {"mkdir": "d/e"})
    assert texts(tree) == {"in/a": "1", "in/b": "2"}, "the original stays as it was"


def test_a_change_of_what_is_not_there_is_refused():
    with pytest.raises(Malformed, match="'gone'"):
        mutate(seed({}), {"remove": "gone"})


def test_the_server_may_touch_its_own_folder_only():
    assert SERVERS["filesystem"].command[-1] == "/data/files"
