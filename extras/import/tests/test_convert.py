"""Tests of `task convert`: its guide works, nothing of another benchmark is run, and what it says of bad paths."""

import json
import re
import shlex
from pathlib import Path

import pytest

from quarterturn.cli import run
from quarterturn_import.benchmark_files import convert_path
from rotation.errors import Malformed
from rotation.generation.import_tasks import read_drafts

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "import-tasks-of-other-benchmarks.md"


def test_the_guides_command_makes_a_draft_that_lacks_nothing(tmp_path, monkeypatch):
    text = GUIDE.read_text(encoding="utf-8")
    (row,) = re.findall(r"one line, `(\{.*\})`:", text)
    (line,) = re.findall(r"^ *quarterturn (task convert .*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(row)
    assert run(shlex.split(line)) == 0
    report = json.loads(Path("report.jsonl").read_text())
    assert report == {"name": "greeting", "outcome": "whole", "reasons": [], "missing": []}
    (draft,) = read_drafts(Path("drafts.jsonl").read_bytes(), "drafts.jsonl")
    assert draft.provenance["solutions"][0]["name"] == "reference"


def test_what_came_partly_is_written_when_asked_for_and_refused_by_the_import(tmp_path, capsys):
    task = tmp_path / "tasks" / "filesystem" / "made" / "up"
    task.mkdir(parents=True)
    source = "import sys, os\nfrom pathlib import Path\nroot = Path(os.environ.get('FILESYSTEM_TEST_DIR'))\n"
    source += "if not (root / 'a').is_dir() or strange(root):\n    sys.exit(1)\n"
    (task / "verify.py").write_text(source)
    (task / "description.md").write_text("Make the folder a.")
    (tmp_path / "states" / "made").mkdir(parents=True)
    (tmp_path / "states" / "made" / "b.txt").write_text("hi")
    words = ["task", "convert", "mcpmark", str(tmp_path), "--out", str(tmp_path / "out.jsonl")]
    assert run([*words, "--state", str(tmp_path / "states")]) == 1, "no draft was written"
    assert "out.jsonl has no drafts. --partial writes those that came partly, too." in capsys.readouterr().out
    assert (tmp_path / "out.jsonl").read_text() == ""
    assert run([*words, "--state", str(tmp_path / "states"), "--partial"]) == 0
    line = (tmp_path / "out.jsonl").read_bytes()
    made = json.loads(line)
    assert made["task"]["initial_state"] == {"filesystem": {"files": {"b.txt": "hi"}}}
    assert made["task"]["success_predicate"] == {"filesystem.directoryExists": {"path": "a"}}
    assert "verify.py:4: `strange(root)` is not understood" in made["provenance"]["partial"][0]
    with pytest.raises(Malformed, match=r"out\.jsonl, line 1: \$\.provenance\.partial"):
        read_drafts(line, "out.jsonl")


@pytest.mark.parametrize("benchmark", ["mcpmark", "mcp-universe", "rows"])
def test_a_path_without_the_benchmarks_files_is_told(tmp_path, capsys, benchmark):
    for path in (tmp_path, tmp_path / "nowhere"):
        assert run(["task", "convert", benchmark, str(path), "--out", str(tmp_path / "out")]) != 0
        assert str(path) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_verifier_of_another_benchmark_is_parsed_and_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    canary = tmp_path / "canary"
    folder = tmp_path / "tasks" / "filesystem" / "standard" / "files" / "tidy"
    folder.mkdir(parents=True)
    (folder / "description.md").write_text("Tidy up.\n")
    (folder / "meta.json").write_text("{}")
    (folder / "verify.py").write_text(
        f"import os, sys\nopen({str(canary)!r}, 'w')\nCANARY = os.system('touch {canary}')\n"
        f"def verify(open=open({str(canary)!r}, 'w')):\n    return exec('open({str(canary)!r}, \"w\")')\n"
        "if __name__ == '__main__':\n    sys.exit(0 if verify() else 1)\n"
    )
    (folder / "sitecustomize.py").write_text(f"open({str(canary)!r}, 'w')\n")
    (made,) = convert_path("mcpmark", tmp_path / "tasks", account="canary", states=None)
    assert made.outcome == "not"
    assert not canary.exists()
