"""Tests of reading case files: strict, and in any order of lines."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotation.detection.statistics import case_files
from rotation.detection.statistics.table import ResultTable
from rotation.errors import Malformed

from .worlds import World, Wrong, play, write

ROW: dict[str, Any] = {
    "rotation": 1,
    "submission": "one",
    "submitter": "alice",
    "task_id": "t1",
    "server": "git",
    "family": "rename",
    "first_active_rotation": 0,
    "passed": True,
    "tool_calls": 4,
    "max_steps": 9,
}


def file(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "case.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def rows() -> list[dict[str, Any]]:
    return [
        {**ROW, "rotation": rotation, "submission": who[0] + "1", "submitter": who, "task_id": f"t{task}",
         "first_active_rotation": task - 1, "passed": (task + rotation) % 2 == 0, "tool_calls": task + 1}
        for rotation in (1, 2, 3)
        for who in ("bob", "alice")
        for task in range(rotation + 1)
    ]  # fmt: skip


def test_the_order_of_lines_changes_nothing(tmp_path):
    lines = rows()
    straight = case_files.read(file(tmp_path, *lines))
    random.Random(7).shuffle(lines)
    mixed = case_files.read(file(tmp_path, *lines))
    assert straight.runs == mixed.runs == ("a1", "b1") * 3
    for name in ("submitter", "rotation", "first", "cap", "taken", "passed", "calls", "exposed"):
        assert np.array_equal(getattr(straight, name), getattr(mixed, name))


def test_a_task_is_exposed_once_it_was_live_in_an_earlier_rotation(tmp_path):
    table = case_files.read(file(tmp_path, *rows()))
    assert table.tasks == ("t0", "t1", "t2", "t3")
    assert table.first.tolist() == [-1, 0, 1, 2]
    assert table.exposed[table.rotation == 1].tolist() == [[True, True, False, False]] * 2
    assert table.exposed[table.rotation == 2].tolist() == [[True, True, True, False]] * 2


@pytest.mark.parametrize("world", [World(submitters=6, rotations=3), World(submitters=4, lab=0.5, tails=3, wave=2)])
def test_a_world_that_is_written_and_read_is_the_same(world, tmp_path):
    table = play(world, 1, Wrong(known=0.2)).until(world.rotations)
    again = case_files.read(write(table, tmp_path / "world.jsonl"))
    for name in ResultTable.__dataclass_fields__:
        assert np.array_equal(getattr(again, name), getattr(table, name)), name


def test_a_later_cap_changes_nothing_before_it(tmp_path):
    later = {**ROW, "rotation": 2, "max_steps": 30}
    assert case_files.read(file(tmp_path, ROW, later)).cap.tolist() == [9]


def test_other_fields_and_a_colon_in_a_name_are_let_be(tmp_path):
    table = case_files.read(file(tmp_path, {**ROW, "task_id": 'a": b', "more": {"deep": [1]}}))
    assert table.tasks == ('a": b',)


def test_an_empty_file_is_a_case_without_runs(tmp_path):
    assert case_files.read(file(tmp_path)).runs == ()


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ROW.items() if key != name}


SECOND = {**ROW, "task_id": "t2"}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "is no JSON;"),
        ('{"a"', "is no JSON;"),
        ("{} {}", "is no JSON;"),
        ("[]", "no JSON object"),
        ("3", "no JSON object"),
        ("   ", "blank"),
        (without("server"), "'server' is missing"),
        ({**SECOND, "rotation": 0}, "'rotation'"),
        ({**SECOND, "rotation": True}, "'rotation'"),
        ({**SECOND, "rotation": 1.0}, "'rotation'"),
        ({**SECOND, "passed": 1}, "'passed'"),
        ({**SECOND, "passed": None}, "'passed'"),
        ({**SECOND, "tool_calls": -1}, "'tool_calls'"),
        ({**SECOND, "tool_calls": 10**12}, "'tool_calls'"),
        ({**SECOND, "submitter": ""}, "'submitter'"),
        ({**SECOND, "submitter": "\ud800"}, "'submitter'"),
        (json.dumps(SECOND).replace("9", "NaN"), "NaN is no number"),
        (json.dumps(SECOND).replace("9", "1e999"), "'max_steps'"),
        (json.dumps(SECOND).replace("9", "9" * 5000), "line 2"),
        (json.dumps(SECOND)[:-1] + ', "rotation": 1}', "a field twice"),
        (json.dumps(SECOND)[:-1] + ', "rotation" : 1}', "a field twice"),
        ("[" * 100_000, "line 2"),
        (ROW, "line 1 gave a result of this"),
        ({**SECOND, "submitter": "bob"}, "another submitter"),
        ({**ROW, "rotation": 2, "family": "other"}, "another 'family'"),
        ({**ROW, "rotation": 2, "server": "other"}, "another 'server'"),
        ({**ROW, "rotation": 2, "first_active_rotation": -1}, "another 'first_active_rotation'"),
    ],
)
def test_a_broken_line_is_named_with_its_file_and_number(line, what, tmp_path):
    path = file(tmp_path, ROW, line, {**ROW, "task_id": "t3"})
    with pytest.raises(Malformed) as refused:
        case_files.read(path)
    assert f"{path}, line 2: " in str(refused.value)
    assert what in str(refused.value)


def test_invalid_utf_8_is_named_with_its_line(tmp_path):
    path = file(tmp_path, ROW)
    path.write_bytes(path.read_bytes() + b"\xff\n")
    with pytest.raises(Malformed, match="line 2: it is not UTF-8"):
        case_files.read(path)


@pytest.mark.parametrize("line", [1, 50, 51, 53])
def test_the_malformed_line_is_named_in_any_block_of_lines(line, tmp_path, monkeypatch):
    monkeypatch.setattr(case_files, "BLOCK", 50)
    lines = [json.dumps({**ROW, "task_id": f"t{number}"}) for number in range(53)]
    lines[line - 1] = lines[line - 1].replace("true", "1")
    with pytest.raises(Malformed, match=f"line {line}: 'passed' has to be true or false"):
        case_files.read(file(tmp_path, *lines))


def test_a_folder_means_its_case_files(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (tmp_path / name).write_text("")
    assert list(case_files.cases([tmp_path])) == ["a", "b"]


def test_two_cases_of_one_name_are_refused_by_name(tmp_path):
    (tmp_path / "sub").mkdir()
    for path in (tmp_path / "a.jsonl", tmp_path / "sub" / "a.json"):
        path.write_text("")
    with pytest.raises(Malformed, match="a case called 'a' too"):
        case_files.cases([tmp_path, tmp_path / "sub" / "a.json"])


def test_a_folder_without_cases_and_a_file_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(Malformed, match=r"no \*\.jsonl"):
        case_files.cases([tmp_path])
    with pytest.raises(Malformed, match=r"nothing\.jsonl: cannot be read"):
        case_files.read(tmp_path / "nothing.jsonl")


def test_the_output_file_is_not_read_as_a_case(tmp_path):
    for name in ("a.jsonl", "flags.jsonl"):
        (tmp_path / name).write_text("")
    assert list(case_files.cases([tmp_path], tmp_path / "flags.jsonl")) == ["a"]
    with pytest.raises(Malformed, match="written over this case"):
        case_files.cases([tmp_path / "a.jsonl"], tmp_path / "." / "a.jsonl")


def test_a_case_whose_name_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "a\udcff.jsonl").write_text("")
    with pytest.raises(Malformed, match="not UTF-8"):
        case_files.cases([tmp_path])
