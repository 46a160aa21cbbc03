"""Tests that the public results of a release are counted by the language of the goals."""

import json
import shutil
from unittest.mock import Mock

import pytest

from freezing.exports import EXAMPLE
from quarterturn.public_view import HomeFacts, PublicDocuments

RELEASE = "Historical-2025-12"


@pytest.fixture
def release(tmp_path):
    """Return a copy of the example release with one goal in German, and that task's id."""
    shutil.copytree(EXAMPLE / RELEASE, tmp_path / RELEASE)
    file = tmp_path / RELEASE / "tasks.jsonl"
    german, *others = map(json.loads, file.read_text().splitlines())
    file.write_text("".join(f"{json.dumps(task)}\n" for task in (german | {"language": "de"}, *others)))
    return tmp_path, german["id"]


def test_a_task_without_a_language_is_counted_as_english(release):
    releases, german = release
    documents = PublicDocuments(HomeFacts({}, releases, releases, Mock()), *[Mock()] * 4, names=dict)
    counts = [count for count in json.loads(documents.release_results(RELEASE)) if count["by"] == "language"]
    results = [json.loads(line)["result"] for line in (releases / RELEASE / "results.jsonl").read_text().splitlines()]
    expected = [
        {
            "run": run,
            "by": "language",
            "name": language,
            "attempted": len(passes),
            "passed": sum(passes),
        }
        for run in sorted({result["run"] for result in results})
        for language in ("de", "en")
        if (passes := [r["passed"] for r in results if r["run"] == run and (r["task"] == german) == (language == "de")])
    ]
    assert counts == expected
    assert {count["name"] for count in counts} == {"de", "en"}
