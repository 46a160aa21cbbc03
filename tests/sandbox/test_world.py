"""A task's world: what its data folder holds, and what predicates are shown of it."""

import pytest

from sandbox.errors import Malformed
from sandbox.world import seed, servers_of, views
from verifiers.views import Node, Tree

TASK = {
    "available_tools": ["filesystem.read_text_file", "sqlite.read_query", "filesystem.write_file"],
    "initial_state": {"filesystem": {"files": {"notes/a.txt": "hello"}}},
}


def test_every_server_with_a_listed_tool_is_seeded_and_no_other():
    assert [server.name for server in servers_of(TASK)] == ["filesystem", "sqlite"]
    tree = seed(TASK)
    assert sorted(tree) == ["files", "files/notes", "files/notes/a.txt", "sqlite", "sqlite/main.db"]


def test_each_view_is_the_servers_own_folder():
    shown = views(seed(TASK), servers_of(TASK), "42")
    assert list(shown.states["filesystem"]) == ["notes", "notes/a.txt"]
    assert list(shown.states["sqlite"]) == ["main.db"]
    assert shown.answer == "42"


def test_a_folder_that_an_agent_removed_is_an_empty_view_and_not_a_missing_one():
    gone = Tree({"files": Node("symlink", target="/etc")})
    assert len(views(gone, servers_of(TASK), None).states["filesystem"]) == 0


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"available_tools": ["filesystem.fly"]}, r"\$\.available_tools\[0\]"),
        ({"available_tools": ["nowhere.read"]}, r"\$\.available_tools\[0\]"),
        ({"initial_state": {"git": {}}}, r"\$\.initial_state\.git"),
        ({"initial_state": {"filesystem": {"files": {"a": 1}}}}, r"filesystem at \$\.files\.a"),
        ({"initial_state": {"sqlite": {"tables": {"t": {}}}}}, r"sqlite at \$\.tables\.t"),
    ],
)
def test_a_document_that_no_world_can_be_made_from_is_refused_with_its_place(change, place):
    with pytest.raises(Malformed, match=place):
        seed({**TASK, **change})
