"""Tests of scanning case files: one line per test comes out, and nothing where a case is broken."""

import json
import os
import random
import shlex
from pathlib import Path

import pytest

from quarterturn.cli import run
from quarterturn.findings import case_file_scan

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "detection.md"


def case(path: Path, seed: int, last: int = 2) -> Path:
    rows = [
        {
            "rotation": rotation,
            "submission": f"run{who}",
            "submitter": f"who{who}",
            "task_id": f"t{task:02d}",
            "server": "git",
            "family": f"f{task % 4}",
            "first_active_rotation": task // 10,
            "passed": (task * 7 + who * 3 + rotation + seed) % 5 > 1,
            "tool_calls": 1 + (task * who + rotation + seed) % 6,
            "max_steps": 9,
        }
        for rotation in range(1, last + 1)
        for who in range(6)
        for task in range(10 * rotation + 10)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_case_is_scanned_twice_to_the_same_bytes(tmp_path: Path) -> None:
    cases = [str(case(tmp_path / f"{name}.jsonl", seed)) for seed, name in enumerate(("one", "two"))]
    for out in ("flags", "again"):
        assert run(["watch", "scan", *cases, "--out", str(tmp_path / out)]) == 0
    assert (tmp_path / "flags").read_bytes() == (tmp_path / "again").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "flags").read_text().splitlines()]
    assert {line["case"] for line in lines} == {"one", "two"}
    assert {line["rotation"] for line in lines} == {2}
    assert {line["kind"] for line in lines} >= {"leak", "copy", "family"}
    assert set(lines[0]) == {"case", "rotation", "kind", "subject", "p_value", "p_adj"}


@pytest.mark.parametrize(
    ("submitters", "tasks", "passed"),
    [(1, 1, "all"), (1, 5, "none"), (2, 1, "none"), (2, 5, "some"), (6, 1, "some"), (6, 5, "all"), (6, 5, "none")],
)
def test_a_case_in_which_there_is_next_to_nothing_is_scanned_like_any_other(
    tmp_path: Path, submitters: int, tasks: int, passed: str
) -> None:
    path = tmp_path / "small.jsonl"
    rows = [json.loads(line) for line in case(tmp_path / "case", seed=1, last=3).read_text().splitlines()]
    few = [row for row in rows if int(row["submitter"][3:]) < submitters and int(row["task_id"][1:]) < tasks]
    changed = {"all": {"passed": True}, "none": {"passed": False}, "some": {}}[passed]
    path.write_text("".join(json.dumps(row | changed | {"tool_calls": 3}) + "\n" for row in few))
    case_file_scan.scan([path], tmp_path / "flags")  # a warning of numpy's would fail this test
    lines = [json.loads(line) for line in (tmp_path / "flags").read_text().splitlines()]
    assert all(0 <= line["p_value"] <= line["p_adj"] <= 1 for line in lines)


def test_the_page_on_detection_shows_a_command_and_a_line_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text().splitlines()
    (command,) = (line for line in page if line.startswith("quarterturn watch scan "))
    (line,) = (line for line in page if line.startswith('{"rotation":'))
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "spring.jsonl").write_text(line + "\n")
    case(tmp_path / "cases" / "autumn.jsonl", seed=0)
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(command)[1:]) == 0
    lines = [json.loads(line) for line in (tmp_path / "flags.jsonl").read_text().splitlines()]
    assert {line["case"] for line in lines} == {"autumn"}, "one run of one task says nothing"


def test_the_order_of_lines_and_what_comes_later_change_no_line(tmp_path: Path) -> None:
    whole = case(tmp_path / "whole.jsonl", 3, last=4)
    lines = whole.read_text().splitlines(keepends=True)
    for folder in ("mixed", "cut"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mixed" / "whole.jsonl").write_text("".join(random.Random(1).sample(lines, len(lines))))
    kept = [line for line in lines if json.loads(line)["rotation"] <= 3]
    (tmp_path / "cut" / "whole.jsonl").write_text("".join(kept))
    flags = []
    for path in (whole, tmp_path / "mixed", tmp_path / "cut"):
        assert run(["watch", "scan", str(path), "--out", str(tmp_path / "flags")]) == 0
        flags.append((tmp_path / "flags").read_text().splitlines())
    assert flags[0] == flags[1]
    assert flags[2] == [line for line in flags[0] if json.loads(line)["rotation"] <= 3]
    assert len(flags[0]) > len(flags[2]) > 0


@pytest.mark.full
def test_processes_give_the_bytes_that_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [str(case(tmp_path / f"{name}.jsonl", seed)) for seed, name in enumerate("cab")]
    found = []
    for much in (0, 10**9):
        monkeypatch.setattr(case_file_scan, "MUCH", much)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
        assert run(["watch", "scan", *cases, "--out", str(tmp_path / "flags")]) == 0
        found.append((tmp_path / "flags").read_bytes())
    assert found[0] == found[1]


def test_what_cannot_be_scanned_or_written_is_named_and_leaves_every_file_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad, flags = case(tmp_path / "good.jsonl", 1), tmp_path / "bad.jsonl", tmp_path / "flags"
    bad.write_text("{}\n")
    before = {path.name: path.read_bytes() for path in (good, bad)}
    gone = [tmp_path / name for name in ("gone.jsonl", "gone", "good.jsonl/x")]
    for cases, out, sentence in (
        ([good, bad], flags, "bad.jsonl, line 1"),
        *(([good, path], flags, f"{path}: cannot be read") for path in gone),
        ([good, good], flags, ""),
        ([good], good, ""),
        ([good], tmp_path, "name a file with --out"),
    ):
        assert run(["watch", "scan", *map(str, cases), "--out", str(out)]) == 2
        assert sentence in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
