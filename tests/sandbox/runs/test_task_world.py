"""Tests of a task's world: what its data folder holds, and what is asked of it."""

from dataclasses import replace

import pytest

from quarterturn_attacks.harness.scenario_task import scenario_task
from sandbox.errors import Malformed, NotFound
from sandbox.runs.task_world import question_of, seed, servers_of, untouched
from sandbox.servers.registry import SERVERS, names_of_tools

from ...frozen import content

TASK = {
    "available_tools": ["filesystem.read_text_file", "sqlite.read_query", "filesystem.write_file"],
    "initial_state": {"filesystem": {"files": {"notes/a.txt": "hello"}}},
}


def test_every_server_with_a_listed_tool_is_seeded_and_no_other():
    assert [server.name for server in servers_of(TASK)] == ["filesystem", "sqlite"]
    tree = seed(TASK)
    assert sorted(tree) == ["files", "files/notes", "files/notes/a.txt", "sqlite", "sqlite/main.db"]


def test_a_world_has_the_servers_of_offered_tools_too_unless_two_need_one_backend(monkeypatch):
    offered = names_of_tools(["git", "sqlite"])
    assert [server.name for server in servers_of(TASK, offered)] == ["filesystem", "git", "sqlite"]
    monkeypatch.setitem(SERVERS._servers, "cache", replace(SERVERS["redis"], name="cache"))
    with pytest.raises(Malformed, match="what the run offers names two servers of the state kind redis"):
        servers_of(TASK, names_of_tools(["cache", "redis"]))
    with pytest.raises(NotFound, match="there is no server 'pay'"):
        names_of_tools(["git", "pay"])


def test_a_seed_is_a_state_that_nobody_touched():
    assert dict(content(untouched(TASK))) == dict(seed(TASK))


def test_a_question_names_the_folder_of_each_server_and_what_is_looked_at():
    question = question_of(scenario_task())
    assert question.roots == {"filesystem": "files", "git": "repos", "sqlite": "sqlite"}
    assert question.looked_at == ["filesystem", "git", "sqlite"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"available_tools": ["filesystem.fly"]}, r"\$\.available_tools\[0\]"),
        ({"available_tools": ["nowhere.read"]}, r"\$\.available_tools\[0\]"),
        ({"initial_state": {"git": {}}}, r"\$\.initial_state\.git"),
        ({"initial_state": {"filesystem": {"files": {"a": 1}}}}, r"filesystem is malformed at \$\.files\.a"),
        ({"initial_state": {"sqlite": {"tables": {"t": {}}}}}, r"sqlite is malformed at \$\.tables\.t"),
    ],
)
def test_a_document_that_no_world_can_be_made_from_is_refused_with_its_place(change, place):
    with pytest.raises(Malformed, match=place):
        seed({**TASK, **change})
