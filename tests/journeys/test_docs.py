"""Every command that the README and the guides show is run, in their order, as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "how-to" / "run-a-month.md"
README = ROOT / "README.md"
ELSEWHERE = {
    "./run demo": "tests/journeys/test_demo.py plays it",
    "./run test": "these are its tests",
    "./run bench watch": "tests/quarterturn/test_bench_watch.py plays a few of its cases",
    "quarterturn watch scan cases --out flags.jsonl": "tests/quarterturn/test_scanning.py runs it",
}
COMMAND = re.compile(r"(?:\.venv/bin/)?quarterturn |\./run |python3 docs/")
AUDIT = re.compile(r" (?:docs/)?audit(?:\.py)? ")

pytestmark = [pytest.mark.box, pytest.mark.slow]


def commands(page: Path) -> list[str]:
    """Give the commands in a page's fenced blocks, in order."""
    return [line for line in _fenced(page.read_text(encoding="utf-8")) if COMMAND.match(line)]


def _fenced(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield line.strip()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that looks like a checkout after `./run setup`."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / ".venv").symlink_to(sys.prefix)
    for name in ("examples", "docs"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )


def test_the_guide_to_a_month_works_line_by_line_and_the_readme_audits_what_it_made(desk: Path) -> None:
    audits = [line for line in commands(README) if AUDIT.search(line)]
    for command in [*commands(GUIDE), *audits]:
        done = run(command, desk)
        assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"
    assert "14. full score: pending" in done.stdout


def test_what_the_readme_says_to_a_maintainer_and_a_submitter_works(
    desk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    another = tmp_path_factory.mktemp("readme")
    for name in (".venv", "examples"):
        (another / name).symlink_to((desk / name).resolve())
    for command in commands(README):
        if command not in ELSEWHERE and not AUDIT.search(command):
            done = run(command, another)
            assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"


def test_no_page_shows_a_command_that_nobody_runs() -> None:
    run_here = {*commands(GUIDE), *commands(README), *ELSEWHERE}
    guides = ROOT / "docs" / "how-to"
    # tests/grammars/test_how_to.py, tests/quarterturn/test_{keys,model,hosting,service,witness,two_people}_guide.py,
    # tests/quarterturn/test_watchreport.py and tests/quarterturn/test_withdrawing.py do
    names = (
        *("write-a-grammar.md", "let-agents-use-a-model.md", "host-an-endpoint.md", "read-the-watch.md"),
        *("keep-the-keys.md", "run-the-service.md", "run-a-witness.md", "two-people.md"),
        "withdraw-a-task.md",
    )
    covered = {guides / name for name in names}
    pages = [README, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
    stray = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages
        if page not in covered
        for line in commands(page)
        if line not in run_here
    ]
    assert not stray
