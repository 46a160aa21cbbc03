"""Runs the guide to exports: each command as written, and each folder has what the guide says."""

from __future__ import annotations

import pytest

from ..guides import GuideShell, commands

pytestmark = [pytest.mark.box, pytest.mark.slow]


def test_the_guide_works_line_by_line(tmp_path, say, monkeypatch):
    shell = GuideShell(tmp_path, say, monkeypatch)
    for command in commands("export-tasks-and-runs.md"):
        shell.type(command)
    assert (tmp_path / "dev-set/croissant.json").is_file()
    assert (tmp_path / "retired/data/results.parquet").is_file()
    assert [path.name for path in (tmp_path / "logs").glob("*.eval")] == ["run-1.eval"]
    assert len(list((tmp_path / "retired-logs").glob("*.eval"))) == 3
    assert len(list((tmp_path / "harbor-tasks").glob("*/task.toml"))) == 12
