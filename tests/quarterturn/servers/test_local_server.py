"""Tests of a server that is really installed, started and played, from a folder of packages and without a registry."""

import json
import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from sandbox.servers.registry import SERVERS

from ..conftest import EASY, written

pytestmark = pytest.mark.box

KNOWING = Path(__file__).parents[2] / "journeys" / "knowing_agent.py"
FILES = [f"filesystem.{name}" for name in SERVERS["filesystem"].tools]


def draft(*titles, **changes):
    calls = [{"tool": "notebook.add_note", "arguments": {"title": title}} for title in titles]
    calls.append({"tool": "notebook.wait", "arguments": {"title": "a little"}})
    task = written(EASY, 1) | {
        "server": "notebook",
        "goal": "Add the notes.",
        "initial_state": {"notebook": {"document": {"notes": []}}},
        "available_tools": ["notebook.add_note", "notebook.remove_note", "notebook.wait", *FILES[:12]],
        "success_predicate": {"notebook.itemCount": {"pointer": "/notes", "count": len(titles)}},
    }
    solutions = [{"name": "direct", "calls": calls, "answer": None}]
    provenance = {"template": "x", "skeleton": "x/1", "solutions": solutions, "mutants": []}
    return {"task": task | changes, "provenance": provenance}


def changed(said):
    """Return the notes that a trial left, each as the map of its values."""
    notes = defaultdict(dict)
    for change in said["data"]["differences"]["notebook"]["changes"]:
        if (found := re.fullmatch(r"\$\.value\.notes\[(\d)\]\.(\w+)", change["item"])) is not None:
            notes[found[1]][found[2]] = json.loads(change["after"]["value"])
    return list(notes.values())


def test_an_agent_behind_the_wall_passes_a_task_of_an_added_server(tmp_path, say, home, notebook):
    added = say("server", "add", notebook, "--box", "bwrap", "--home", home)
    assert added.code == 0, added.err
    file, folder = tmp_path / "draft.jsonl", tmp_path / "agent"
    line = draft("milk", "bread")
    file.write_text(json.dumps(line) + "\n")
    folder.mkdir()
    shutil.copyfile(KNOWING, folder / "agent.py")
    known = {"goal": line["task"]["goal"], "solution": line["provenance"]["solutions"][0]}
    for solution, code in ((known["solution"], 0), ({"calls": [], "answer": None}, 1)):
        (folder / "known.json").write_text(json.dumps([known | {"solution": solution}]))
        agent = f"python3 {folder / 'agent.py'}"
        assert say("task", "try", file, "--agent", agent, "--box", "bwrap", "--home", home).code == code


@pytest.mark.full
def test_a_frozen_server_leaves_the_same_whole_state_each_time(tmp_path, say, home, notebook):
    with (notebook / "server.yaml").open("a") as manifest:
        manifest.write('freeze: {clock: "2026-03-02T09:00:00Z", ids: true}\n')
    file = tmp_path / "draft.jsonl"
    assert say("server", "add", notebook, "--box", "bwrap", "--home", home).code == 0
    file.write_text(json.dumps(draft("milk", "bread")) + "\n")
    first, second = (json.loads(say("task", "try", file, "--box", "bwrap", "--home", home, "--json").out) for _ in "ab")
    notes = changed(first)
    assert changed(second) == notes
    assert [note["title"] for note in notes] == ["milk", "bread"]
    assert len({note["id"] for note in notes}) == 2
    assert {note["created"] for note in notes} == {"2026-03-02T09:00:00+00:00"}
    assert {note["stamp"] for note in notes} == {1772442000.0}
    assert {(note["day"], note["clock"]) for note in notes} == {("2026-03-02", "2026-03-02 09:00:00")}
    assert first["data"]["transcript"]["calls"][-1]["result"] == "0.2", "time goes on for sleeps"
    whole = {"notebook.itemsEqual": {"pointer": "/notes", "items": notes}}
    file.write_text(json.dumps(draft("milk", "bread", success_predicate=whole)) + "\n")
    assert say("task", "try", file, "--box", "bwrap", "--home", home).code == 0
