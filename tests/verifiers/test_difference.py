"""Tests of the difference of two states, as it is shown to people."""

import pytest

from verifiers.language.catalogue import CATALOGUE
from verifiers.normal_form import NormalState, decode, encode
from verifiers.predicates.namespaces import known
from verifiers.states.difference import MAX_ITEMS, MAX_TEXT, Comparison
from verifiers.states.git.examples import repository
from verifiers.states.readers import read_all
from verifiers.tree import FileTree, Node, tree_of


def difference(namespace, before, after):
    forms = [decode(encode(read_all({namespace: tree})))[namespace] for tree in (before, after)]
    return Comparison().difference(namespace, *forms)


def plain(made):
    assert (made.left_out, made.unknown) == (0, "")
    return [(change.kind, change.item, dict(change.before), dict(change.after)) for change in made.changes]


@pytest.mark.parametrize("namespace", known())
def test_every_kind_is_listed_and_two_states_of_which_one_holds_differ(namespace):
    compared = 0
    for name, entry in CATALOGUE.items():
        if name.partition(".")[0] == namespace:
            held, failed = (make().states[namespace] for make in (entry.example.holds, entry.example.fails))
            made = difference(namespace, failed, held)
            if made.unknown:
                assert "cannot be read" in made.unknown, name
            else:
                assert made.changes, name
                assert difference(namespace, held, held).changes == ()
                compared += 1
    assert compared


def test_a_file_is_added_changed_and_removed():
    before = FileTree({"a.txt": Node("file", b"one\n"), "b.bin": Node("file", b"\xff\x00"), "c": Node("directory")})
    after = FileTree({"a.txt": Node("file", b"two\n"), "c": Node("directory"), "d": Node("symlink", target="a.txt")})
    changed, added, removed = plain(difference("filesystem", before, after))
    assert changed == ("changed", "file a.txt", {"text": "one\n"}, {"text": "two\n"})
    assert added == ("added", "link d", {}, {"target": "a.txt"})
    assert removed[:2] == ("removed", "file b.bin")
    assert removed[2]["text"].startswith("2 bytes that are no text, SHA-256 ")


def test_a_row_is_told_by_its_key_and_one_without_a_key_by_what_it_holds():
    def state(rows, key):
        columns = [["id", "INTEGER", 0, None, key, 0], ["name", "TEXT", 0, None, 0, 0]]
        return NormalState({"tables": [{"name": "t", "columns": columns, "rows": rows}]})

    keyed = Comparison().difference("sqlite", state([[1, "a"], [2, "b"]], 1), state([[1, "a"], [2, 2]], 1))
    assert plain(keyed) == [("changed", "t row id = 2", {"name": '"b"'}, {"name": "2"})]
    twice = Comparison().difference("sqlite", state([[1, "a"]], 0), state([[1, "a"], [1, "a"]], 0))
    assert plain(twice) == [("added", 't row id = 1, name = "a" (2)', {}, {"id": "1", "name": '"a"'})]


def test_a_commit_shows_as_a_branch_that_moved_and_the_files_on_it():
    first, second = ("main", "First", {"a": "1\n"}), ("main", "Second", {"a": "2\n"})
    states = [repository(commits).states["git"] for commits in ([first], [first, second])]
    changes = {item: (before, after) for _, item, before, after in plain(difference("git", *states))}
    assert changes["site: refs/heads/main"][1]["message"] == "Second\n"
    assert changes["site: file a on main"] == ({"text": "1\n"}, {"text": "2\n"})


def test_the_time_that_passes_while_a_task_is_played_is_no_change_of_a_key():
    def state(left):
        return NormalState({"keys": {"k": {"type": "string", "value": "v", "left": left}}})

    assert plain(Comparison().difference("redis", state(3_600_000), state(3_598_500))) == []
    assert plain(Comparison().difference("redis", state(3_600_000), state(None))) != []


def test_a_state_that_cannot_be_read_is_said_to_be_so():
    broken = difference("sqlite", tree_of({}), tree_of({"main.db": "no database"}))
    assert broken.unknown == "the state before cannot be read: there is no database file"
    shapeless = Comparison().difference("sqlite", NormalState({"tables": 3}), NormalState({"tables": 3}))
    assert shapeless.unknown == "the state before cannot be listed (TypeError)"


def test_what_is_said_is_capped_and_what_is_left_out_is_counted():
    many = FileTree({f"f{number}": Node("file", b"x" * 3000) for number in range(MAX_ITEMS + 5)})
    made = difference("filesystem", FileTree({}), many)
    assert (len(made.changes), made.left_out) == (MAX_ITEMS, 5)
    assert len(encode({"filesystem": NormalState([dict(change.after) for change in made.changes])})) < 300_000
    old, new = ("start " * 1000 + word + " end" * 1000 for word in ("before", "later"))
    (change,) = difference("filesystem", tree_of({"a": old}), tree_of({"a": new})).changes
    assert "before" in change.before["text"]
    assert "later" in change.after["text"]
    assert len(change.after["text"]) < MAX_TEXT


def test_a_folder_that_is_in_a_tree_without_end_is_not_followed_without_end():
    trees = {f"{level:040}": [["040000", name, f"{level + 1:040}"] for name in "ab"] for level in range(40)}
    head = {"head": "ref: refs/heads/main", "refs": {"refs/heads/main": "c"}, "trees": trees, "blobs": {}}
    bomb = {**head, "commits": {"c": [f"{0:040}", [], "m"]}, "index": {"entries": []}, "files": []}
    state = NormalState({"repositories": {"site": bomb}})
    made = Comparison().difference("git", state, state)
    assert made.unknown == "the state before cannot be listed (BudgetSpent)"
