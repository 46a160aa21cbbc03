"""Runs every command that the README and the guides show, in their order, as written."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterturn.cli import run as quarterturn

from ..terminals import environment, on_a_terminal
from .small import small_set

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "how-to" / "run-a-month.md"
README = ROOT / "README.md"
ELSEWHERE = {
    "./run demo": "tests/journeys/test_demo.py plays it",
    "./run test": "these are its tests",
    **dict.fromkeys(
        (
            "python3 docs/audit.py examples/release/Historical-2025-12 --key examples/release/log.vkey",
            "python3 docs/audit.py examples/release/tampered/Historical-2025-12 --key examples/release/log.vkey",
        ),
        "tests/contracts/test_example_release.py runs it",
    ),
    "quarterturn audit Historical-2025-12 --key log.vkey": "a release shows it; test_example_release.py runs it",
    "quarterturn audit Historical-{month} --key log.vkey": "the same in the template of a release's README",
    "./run bench watch": "tests/quarterturn/test_bench_watch.py plays a few of its cases",
    "quarterturn watch scan cases --out flags.jsonl": "tests/quarterturn/findings/test_case_file_scan.py runs it",
}
COMMAND = re.compile(r"(?:\.venv/bin/)?quarterturn |\./run |python3 docs/")
AUDIT = re.compile(r" (?:docs/)?audit(?:\.py)? ")

pytestmark = [pytest.mark.box, pytest.mark.slow]


def commands(page: Path) -> list[str]:
    """Return the commands in a page's fenced blocks, in order."""
    return [line for line in _fenced(page.read_text(encoding="utf-8")) if COMMAND.match(line)]


def _fenced(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield line.strip()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that looks like a checkout after `./run setup`, with the demo's set of a few tasks."""
    for name in ("examples", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def play(line: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Run a command as written, our own in this process, and give its standard output; it must succeed."""
    program, *words = shlex.split(line)
    if words[:2] == ["task", "review"] and not {"--approve", "--reject"} & set(words):
        return approved(line)
    capfd.readouterr()
    if program.endswith("quarterturn"):
        status = quarterturn(words)
    else:
        status = subprocess.run([program, *words], check=False).returncode
    out, err = capfd.readouterr()
    assert status == 0, f"{line}\n{out[-500:]}\n{err[-500:]}"
    return out


def approved(line: str) -> str:
    """Review tasks on a terminal as a person does, who approves each."""
    program = Path(sys.prefix) / "bin" / "quarterturn"
    code, shown = on_a_terminal(program, *shlex.split(line)[1:], env=environment(), typed=b"a\n" * 50)
    assert code == 0, shown[-1000:]
    assert "0 rejected, 0 left to review" in shown
    return shown


def words_of(line: str) -> list[str]:
    """Return a command's arguments, whichever way its program is found."""
    return shlex.split(line.removeprefix(".venv/bin/"))


def test_the_guide_to_a_month_and_the_readme_work_line_by_line(
    workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    guide = commands(GUIDE)
    readme = [line for line in commands(README) if line not in ELSEWHERE]
    shared = [words_of(line) for line in readme if words_of(line) in map(words_of, guide)]
    places = [[words_of(line) for line in guide].index(words) for words in shared]
    assert len(places) > 3
    assert places == sorted(places), "what both show, the readme shows in the guide's order"
    with small_set("filesystem/single-tool/easy"):
        for place, line in enumerate(guide):  # a second turn on one day is before the month's end
            play(f"{line} --early" if " turn run " in line and line in guide[:place] else line, capfd)
        said = {line: play(line, capfd) for line in readme if words_of(line) not in shared}
    audits = [out for line, out in said.items() if AUDIT.search(line)]
    assert len(audits) == 2
    assert all("13. full score: pending" in out for out in audits)


def test_no_page_shows_a_command_that_nobody_runs() -> None:
    run_here = {*commands(GUIDE), *commands(README), *ELSEWHERE}
    guides = ROOT / "docs" / "how-to"
    # tests/grammars/test_how_to.py, tests/quarterturn/test_guides.py, tests/quarterturn/home/test_benchmark_set.py,
    # tests/quarterturn/test_{import,verify}_guide.py, tests/quarterturn/month/test_withdraw_task.py,
    # tests/quarterturn/findings/test_{detection_report,leaderboard_scan}.py, tests/quarterturn/http/test_client.py and
    # tests/journeys/test_add_server_guide.py do
    names = (
        *("write-a-grammar.md", "let-agents-use-a-model.md", "use-your-model.md"),
        *("host-an-endpoint.md", "read-the-findings.md"),
        *("keep-the-keys.md", "run-the-service.md", "run-on-many-machines.md", "run-a-witness.md", "two-people.md"),
        *("design-a-set.md", "withdraw-a-task.md", "submit-an-agent.md", "verify-without-our-code.md"),
        *("export-tasks-and-runs.md", "write-a-task.md", "import-tasks-of-other-benchmarks.md"),
        *("add-a-server.md", "let-a-model-judge-claims.md", "scan-a-leaderboard.md"),
    )
    # tests/contracts/test_example_release.py runs those of the example, tests/quarterturn/tasks/test_given_states.py
    # those of the worked example
    covered = {*(guides / name for name in names), ROOT / "examples" / "release" / "README.md"}
    covered.add(ROOT / "docs" / "reference" / "worked-example.md")
    covered.add(ROOT / "examples" / "comparison" / "README.md")  # tests/journeys/test_comparison_guide.py
    pages = [README, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
    stray = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages
        if page not in covered
        for line in commands(page)
        if line not in run_here
    ]
    assert not stray
