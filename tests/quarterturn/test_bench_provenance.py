"""Tests that each table of measured figures says where and when it was measured, and that old ones are listed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURE = re.compile(r"\*{0,2}\d[\d.,]*( ?(%|s|ms|MB|kB|MiB))?\*{0,2}( \([^)]*\))?")
CHANNELS = "Covert channels: what a run can still say, and how much"
COMPUTED = {("docs/reference/covert-channels.md", CHANNELS): "logarithms of counts"}
"""Sections whose figures are computed, not measured, with the way."""


@pytest.fixture(scope="module")
def provenance():
    spec = importlib.util.spec_from_file_location("bench_provenance", ROOT / "bench" / "provenance.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def sections_with_figures(document: Path) -> set[str]:
    section, sections = "", set()
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if any(FIGURE.fullmatch(cell) for cell in cells[1:]):
            sections.add(section)
    return sections


def test_each_table_of_figures_names_revision_machine_and_what_it_depends_on(provenance):
    for name in provenance.DOCUMENTS:
        measured = list(provenance.measurements(name))
        assert measured, name
        without = sections_with_figures(ROOT / name) - {measurement.section for measurement in measured}
        assert {section for section in without if (name, section) not in COMPUTED} == set(), name
        missing = [path for each in measured for path in each.depends_on if not (ROOT / path).exists()]
        assert missing == [], name


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_figure_whose_package_changed_is_listed_until_it_is_measured_anew(provenance, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "DOCUMENTS", ("figures.md",))
    git(tmp_path, "init", "--quiet")

    def commit(file: str, text: str) -> str:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "--message", file)
        return git(tmp_path, "rev-parse", "--short=8", "HEAD")

    def measured(revision: str) -> None:
        commit("figures.md", f"## speed\n\nMeasured at `{revision}` on one core; depends on `pack`.\n")

    measured(commit("pack/code.py", "1"))
    assert list(provenance.outdated(tmp_path)) == []
    commit("other/code.py", "1")
    assert list(provenance.outdated(tmp_path)) == []
    newest = commit("pack/code.py", "2")
    (sentence,) = provenance.outdated(tmp_path)
    assert sentence.startswith("figures.md, speed: ")
    measured(newest)
    assert list(provenance.outdated(tmp_path)) == []
    measured("0" * 8)
    (sentence,) = provenance.outdated(tmp_path)
    assert "does not have" in sentence
