"""Test that the guide to writing a task works as written: its draft and its commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-task.md").read_text(encoding="utf-8")


@pytest.mark.box
@pytest.mark.slow
def test_the_draft_in_the_guide_is_tried_imported_and_tried_again(say, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUARTERTURN_HOME", str(home))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (draft,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    Path("tasks.jsonl").write_text(json.dumps(json.loads(draft)) + "\n")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    said = [say(*shlex.split(line)[1:]) for line in commands]
    assert [result.code for result in said] == [0, 1, 1, 0, 0], [result.err for result in said]
    assert "Verdict: false, ok" in said[1].out
    assert "Cannot go live" not in said[3].out
    assert "added         file report/open.txt" in said[0].out
    assert "added         file report/open.txt" in said[4].out
