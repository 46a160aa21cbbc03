"""Tests of what stands in the root of the repository: the licence, the version, and links that lead somewhere."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STANDARD = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the text of the Apache License 2.0 as its authors publish it."""

HEADING = re.compile(r"(\d+)\.(\d+)\.(\d+) \(\d{4}-\d{2}-\d{2}\)")
PAGES = [
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(str(path.relative_to(ROOT)) for path in (*ROOT.glob("examples/**/README.md"), *ROOT.glob("docs/**/*.md"))),
]


def test_the_licence_is_the_standard_text_and_the_metadata_names_it() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert PROJECT["license-files"] == ["LICENSE"]
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == STANDARD


def test_the_changelog_has_what_is_unreleased_on_top_and_below_it_versions_up_to_this_one() -> None:
    first, *versions = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first == "Unreleased"
    matches = [HEADING.fullmatch(heading) for heading in versions]
    assert all(matches), versions
    numbers = [tuple(map(int, match.groups())) for match in matches if match]
    assert numbers == sorted(set(numbers), reverse=True)
    assert not numbers or numbers[0] <= tuple(map(int, PROJECT["version"].split(".")))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_every_decision_stands_in_the_index_or_in_the_archive() -> None:
    records = ROOT / "docs" / "adr"
    links = re.findall(r"^- \d+\. \[.*\]\(([^)]+)\)", (records / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    archived = re.findall(r'id="(adr-\d{4})"', (records / "archive.md").read_text(encoding="utf-8"))
    kept = [path.name for path in records.glob("[0-9]*.md")]
    assert sorted(links) == sorted(kept)
    numbers = [*(f"adr-{name[:4]}" for name in kept), *archived]
    assert len(set(numbers)) == len(numbers)


def test_the_ci_file_fits_its_schema_and_plays_the_commands_of_the_readme() -> None:
    file = ROOT / ".github" / "workflows" / "tests.yml"
    checked = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", file]
    done = subprocess.run(checked, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
    assert {"./run demo", "./run test", ".ci/run"} <= {step.get("run") for job in jobs for step in job["steps"]}
