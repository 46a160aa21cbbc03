"""Tests of importing hand-written tasks, on real servers: all of them or none."""

import json

import pytest

from quarterturn.cli.daily import task_text
from rotation.errors import Refused
from rotation.generation import import_tasks
from rotation.month.sets import Stratum
from sandbox.boxes.bwrap.box import BwrapBox

from ..conftest import draft_lines

pytestmark = pytest.mark.box


@pytest.fixture
def house(home, opened):
    return opened(home)


def drafts(count=2, apply=lambda line: None):
    """Read so many drafts that were written by hand; the last may be changed first."""
    return import_tasks.read_drafts(draft_lines(*range(count), apply=apply).encode(), "tasks.jsonl")


def take_in(house, drafts):
    return house.tasks.imports.take_in(drafts, box=BwrapBox(), author="ada")


def test_tasks_that_prove_themselves_are_kept_with_their_evidence(house):
    kept = take_in(house, drafts())
    assert [(record.state, record.author, record.public_grammar) for record in kept] == [("admitted", "ada", False)] * 2
    evidence = house.tasks.drafts.evidence(kept[0].id, who="grace", why="review")
    assert [gate["ok"] for gate in evidence["gates"]] == [True] * 7
    with pytest.raises(Refused, match="already; nothing was kept"):
        take_in(house, drafts())


def unsolved(line):
    line["provenance"]["solutions"][0]["calls"][0]["arguments"]["path"] = "/data/files/other"


def test_one_refused_task_keeps_all_of_them_out(house):
    with pytest.raises(Refused, match=r"gate 3 \(solutions pass\): .*: solutions.direct: it gets false"):
        take_in(house, drafts(2, unsolved))
    assert house.home.vault.records() == []


def test_a_task_that_is_kept_already_stays_out_under_another_id(house):
    kept = take_in(house, drafts(1))

    def renamed(line):
        line["task"]["id"] = "t-zzzzzzzzzzzzzzzz"
        line["provenance"]["skeleton"] = "by-hand/another"

    with pytest.raises(Refused, match=f"gate 6 .*: its goal is word for word that of task {kept[0].id}"):
        take_in(house, drafts(1, renamed))

    def reworded(line):
        renamed(line)
        line["task"]["goal"] = "Please: " + line["task"]["goal"]

    with pytest.raises(Refused, match=f"gate 6 .*: near-duplicate of task {kept[0].id}: 8"):
        take_in(house, drafts(1, reworded))


def test_two_tasks_of_one_file_with_the_same_wording_are_not_imported(house):
    def same(line):
        line["task"]["goal"] = "Make a folder."

    first = drafts(1, same)
    with pytest.raises(Refused, match=f"gate 6 .*: its goal is word for word that of task {first[0].id}"):
        take_in(house, [*first, drafts(2, same)[1]])
    assert house.home.vault.records() == []


def outside(line):
    line["provenance"]["solutions"][0]["calls"][0]["arguments"]["path"] = "/data/zephyr"


def test_an_import_says_which_call_failed_and_how_and_the_message_quotes_no_task(home, say, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text(draft_lines(0, apply=outside))
    said = say("task", "import", file, "--as", "ada", "--box", "bwrap", "--home", home, "--json")
    assert said.code == 8
    failed = "call 1 of 1 (filesystem.create_directory) ends in an error"
    missed = "filesystem.directoryExists at $.success_predicate is false"
    assert said.sentence.endswith(f"solutions.direct: it gets false: {failed} and {missed}")
    assert "zephyr" not in said.err
    (failure,) = said.data["kept_out"]
    assert (failure["line"], [gate["number"] for gate in failure["gates"]]) == (1, [3, 4])
    assert "/data/zephyr" in failure["solutions"]["direct"]["call"]["error"]
    assert failure["solutions"]["direct"]["leaf"]["looked_at"] == {"path": "number-0"}
    shown = "\n".join(task_text.kept_out(said.data["kept_out"], file))
    assert "call 1 of 1  filesystem.create_directory" in shown
    assert 'expected  filesystem.directoryExists {"path": "number-0"}' in shown
    assert f"quarterturn task try {file} --line 1" in shown


def test_an_import_says_which_tasks_the_homes_set_has_no_place_for(home, say, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text(draft_lines(0, stratum=Stratum("filesystem", "single-tool", "hard")))
    said = say("task", "import", file, "--as", "ada", "--box", "bwrap", "--home", home)
    assert said.code == 0
    task_id = json.loads(file.read_text())["task"]["id"]
    assert f"{task_id}  admitted" in said.out
    words = "Cannot go live: the set 'demo' has no stratum filesystem/single-tool/hard; of that server it has"
    assert words in said.out
    assert "filesystem/single-tool/easy" in said.out
