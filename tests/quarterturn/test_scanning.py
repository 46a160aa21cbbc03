"""Case files go in, one line per test comes out; nothing where a case is broken."""

import json
from pathlib import Path

import pytest

from quarterturn.cli import run


def case(path: Path, seed: int) -> Path:
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
            "errors": 0,
            "duration_s": 2,
        }
        for rotation in (1, 2)
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
    assert {line["kind"] for line in lines} >= {"copy", "family", "task"}
    assert set(lines[0]) == {"case", "rotation", "kind", "subject", "p_value", "p_adj"}


def test_a_broken_case_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = case(tmp_path / "good.jsonl", 1), tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    assert run(["watch", "scan", str(good), str(bad), "--out", str(tmp_path / "flags")]) == 2
    assert "bad.jsonl, line 1" in capsys.readouterr().err
    assert not (tmp_path / "flags").exists()


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    one = str(case(tmp_path / "one.jsonl", 1))
    assert run(["watch", "scan", one, one, "--out", str(tmp_path / "flags")]) == 2
