"""Tests of `audit`: a failed step shows what disagrees, as text and as JSON."""

import json
import shutil
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[2] / "vectors" / "ledger"
GOOD = VECTORS / "good" / "Historical-2026-12"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A release of which one task was changed in one bit."""
    folder = shutil.copytree(GOOD, tmp_path / "bundle")
    data = (folder / "tasks.jsonl").read_bytes()
    (folder / "tasks.jsonl").write_bytes(bytes([data[0] ^ 1]) + data[1:])
    return folder


def test_a_failed_step_shows_what_was_expected_what_was_found_and_where(say, changed) -> None:
    said = say("audit", changed, "--key", VECTORS / "log.vkey")
    step = say("audit", changed, "--key", VECTORS / "log.vkey", "--json").data["steps"][0]
    listed = json.loads((GOOD / "manifest.json").read_text())["files"]["tasks.jsonl"]["sha256"]
    assert said.code == 1
    assert step["evidence"]["expected"] == listed
    assert said.out.splitlines()[:5] == [
        " 1. files: failed",
        f"    {step['detail']}",
        f"    expected {listed}",
        f"    found {step['evidence']['found']}",
        "    at tasks.jsonl: sha256",
    ]


def test_steps_that_did_not_fail_have_the_fields_that_they_always_had(say, changed) -> None:
    fields = {"number", "name", "ok", "state", "proved", "detail"}
    good = say("audit", GOOD, "--key", VECTORS / "log.vkey", "--json").data["steps"]
    bad = say("audit", changed, "--key", VECTORS / "log.vkey", "--json").data["steps"]
    assert [set(step) for step in good] == [fields] * len(good)
    assert [set(step) for step in bad] == [fields | {"evidence", "rule"}, *[fields] * (len(bad) - 1)]
