"""Tests of `task try`, on real servers: calls, difference of the state, evidence, exit code, and what stays secret."""

import json
import logging

import pytest

from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from sandbox.errors import Lost
from sandbox.servers.registry import SERVERS
from vault.task.document import Task
from vault.task.lifecycle import TaskState

from ..conftest import EASY, written

pytestmark = pytest.mark.box

WORD = "amaranthine-zephyr"
WRITE = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/count.txt", "content": "2"}}
EDIT = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/notes.txt", "content": f"a\n{WORD}\nc\n"}}
INSERT = {"tool": "sqlite.write_query", "arguments": {"query": "INSERT INTO people VALUES (2, 'Grace')"}}
OUTSIDE = {"tool": "filesystem.write_file", "arguments": {"path": "/etc/count.txt", "content": "2"}}


def draft(**changes):
    """Write a draft over two servers, with a solution that passes and one whose last call fails."""
    tools = [f"{name}.{tool}" for name in ("filesystem", "sqlite") for tool in SERVERS[name].tools]
    tools = list(dict.fromkeys([call["tool"] for call in (WRITE, INSERT)] + tools))
    table = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": [[1, "Ada"]]}
    task = written(EASY, 1) | {
        "category": "composition",
        "goal": f"Count the people for {WORD}.",
        "initial_state": {"filesystem": {"files": {"notes.txt": "a\nb\nc\n"}}, "sqlite": {"tables": {"people": table}}},
        "available_tools": tools[:14],
        "success_predicate": {
            "all": [
                {"filesystem.fileTextEquals": {"path": "count.txt", "text": "2"}},
                {"sqlite.rowCount": {"table": "people", "count": 2}},
            ]
        },
    }
    provenance = {
        "template": "by-hand",
        "skeleton": "by-hand/1",
        "solutions": [
            {"name": "direct", "calls": [EDIT, INSERT, WRITE], "answer": None},
            {"name": "outside", "calls": [INSERT, OUTSIDE], "answer": None},
            {"name": "lucky", "calls": [OUTSIDE, INSERT, WRITE], "answer": None},
        ],
        "mutants": [
            {"name": "gone", "server": "filesystem", "change": {"remove": "count.txt"}},
            {"name": "harmless", "server": "filesystem", "change": {"remove": "notes.txt"}},
        ],
    }
    return {"task": task | changes, "provenance": provenance}


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "drafts.jsonl"
    file.write_text(json.dumps(draft()) + "\n")
    return file


def test_a_draft_is_played_from_its_file_and_shows_calls_changes_evidence_and_verdict(say, file, tmp_path):
    played = say("task", "try", file, "--box", "bwrap", "--home", tmp_path / "none", "--json")
    assert played.code == 0
    data = played.data
    assert [call["tool"] for call in data["transcript"]["calls"]] == [call["tool"] for call in (EDIT, INSERT, WRITE)]
    changes = {
        server: [(change["kind"], change["item"]) for change in difference["changes"]]
        for server, difference in data["differences"].items()
    }
    assert changes == {
        "filesystem": [("added", "file count.txt"), ("changed", "file notes.txt")],
        "sqlite": [("added", "people row id = 2")],
    }
    assert data["evidence"]["children"][0]["looked_at"] == {"path": "count.txt", "text": "2"}
    assert (data["verdict"], data["passed"], data["player"]) == ("true", True, "solution")

    failed = say("task", "try", file, "--solution", "outside", "--box", "bwrap")
    assert failed.code == 1
    shown = [
        'call 2          filesystem.write_file {"content": "2", "path": "/etc/count.txt"}',
        "error           Access denied",
        "state           filesystem: unchanged",
        "added         people row id = 2",
        'expected        filesystem.fileTextEquals {"path": "count.txt", "text": "2"}',
        'seen            there is nothing at "count.txt"',
        "Verdict: false. NO: a reference solution has to get true.",
    ]
    assert not [part for part in shown if part not in failed.out]

    lucky = say("task", "try", file, "--solution", "lucky", "--box", "bwrap")
    assert lucky.code == 1
    assert "NO: a solution meets no error that the task does not schedule (call 1 of 3)." in lucky.out

    gone = say("task", "try", file, "--mutant", "gone", "--box", "bwrap")
    assert gone.code == 1
    assert "Verdict: false, ok: the predicate notices what this mutant changes." in gone.out
    assert [line.strip() for line in gone.out.splitlines() if line.strip()[:2] in ("- ", "+ ")] == ["- b", f"+ {WORD}"]


def test_an_agent_plays_a_draft_in_a_box_and_what_it_left_is_compared(say, file, tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    played = say("task", "try", file, "--agent", f"python3 {folder / 'agent.py'}", "--box", "bwrap", "--json")
    assert played.code == 1
    data = played.data
    assert (data["player"], data["name"], data["transcript"]["answer"]) == ("agent", "agent", "2")
    assert [change["item"] for change in data["differences"]["filesystem"]["changes"]] == ["file count.txt"]
    assert [child["verdict"] for child in data["evidence"]["children"]] == ["true", "false"]


AGENT = """
import json, os, urllib.request

URL = os.environ["QUARTERTURN_URL"]

def post(path, body):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answered:
        return answered.read()

json.load(urllib.request.urlopen(URL + "/task"))
call = {"name": "filesystem__write_file", "arguments": {"path": "/data/files/count.txt", "content": "2"}}
hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
print(post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
post("/answer", {"answer": "2"})
"""


def test_a_task_of_the_home_is_opened_under_a_name_and_nothing_of_it_is_logged(home, say, caplog, tmp_path, opened):
    line = draft(
        free={name: {"from": [f"{name}-{number}" for number in range(1024)]} for name in ("lane", "yard")},
        goal=f"Count the people of {{{{lane}}}} and {{{{yard}}}} for {WORD}.",
    )
    house = opened(home)
    house.home.vault.add(
        Task.parse(line["task"]), line["provenance"], author="ada", public_grammar=False, skeleton="s", template="t"
    )
    house.home.vault.advance(line["task"]["id"], "admit")
    caplog.set_level(logging.DEBUG)
    say("task", "try", line["task"]["id"], "--home", home).refuses(3, "needs --as NAME")
    played = say("task", "try", line["task"]["id"], "--as", "grace", "--box", "bwrap", "--home", home)
    assert played.code == 0
    assert f"Count the people of lane-0 and yard-0 for {WORD}." in played.out
    log = say("access", "log", "--home", home, "--json").data
    task_id = line["task"]["id"]
    assert [(row["who"], row["what"], row["why"]) for row in log] == [("grace", f"task/{task_id}", "task try")]
    assert WORD not in caplog.text + played.err


def test_an_agent_is_not_shown_a_live_task(playable, say, opened):
    live = opened(playable).home.vault.records(TaskState.LIVE)[0].id
    say("task", "try", live, "--as", "grace", "--agent", "python3 agent.py", "--home", playable).refuses(
        4, "is live, and an agent is shown live tasks in runs alone"
    )
    assert say("access", "log", "--home", playable, "--json").data == []


def test_a_task_of_a_dev_set_needs_no_home_and_no_name(say, tmp_path):
    first = shipped_dev_sets.drafts(DEMO)[0]
    played = say("task", "try", first.id, "--box", "bwrap", "--home", tmp_path / "none")
    assert played.code == 0
    assert first.task["goal"].split("\n")[0][:40] in played.out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--line", 2], 3, "ends with line 1: it has no line 2"),
        (["--solution", "other"], 3, "the task has no solution 'other'; it has direct, outside"),
        (["--mutant", "other"], 3, "the task has no mutant 'other'; it has gone, harmless"),
        (["--agent", "python3 a.py", "--mutant", "gone"], 2, "leave --solution and --mutant out"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence_before_anything_is_started(say, file, words, code, sentence):
    said = say("task", "try", file, *words, "--box", "bwrap")
    assert (said.code, said.out, said.err.count("\n")) == (code, "", 1)
    assert sentence in said.sentence


def test_a_file_that_is_not_there_and_a_line_that_is_no_draft_are_refused(say, file, tmp_path):
    assert say("task", "try", tmp_path / "none.jsonl", "--line", 1).code == 3
    file.write_text('{"task": {}}\n')
    say("task", "try", file).refuses(2, f"{file}, line 1")


@pytest.mark.full
def test_states_that_cannot_be_compared_leave_the_verdict_as_it_is(say, file, monkeypatch):
    def torn(_self, _roots, _before, _left, _changes):
        raise Lost("the comparison was lost")

    monkeypatch.setattr("sandbox.judge.state_judge.StateJudge.differences", torn)
    said = say("task", "try", file, "--box", "bwrap")
    assert said.code == 0
    assert "state           not compared: the comparison was lost" in said.out
