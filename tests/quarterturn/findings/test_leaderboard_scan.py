"""Tests of scanning a leaderboard: the guide's commands, the page, and what is refused with nothing written."""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from ..guides import ROOT, GuideShell, blocks, commands

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "leaderboard"
GUIDE = "scan-a-leaderboard.md"
P_VALUE = re.compile(r"(?<= )[\d.]+(?:e-\d+)?(?= or more|:|$)", re.MULTILINE)
KNOWING = {"agent-07", "agent-16"}


def test_the_guide_finds_those_who_know_tasks_and_shows_what_the_command_prints(tmp_path, say, monkeypatch):
    (command,) = commands(GUIDE)
    told = GuideShell(tmp_path, say, monkeypatch).type(command)
    assert P_VALUE.sub("p", told) == P_VALUE.sub("p", blocks(GUIDE, "text")[0])
    rows = [json.loads(line) for line in Path("tests.jsonl").read_text().splitlines()]
    leaks = {row["subject"]: row for row in rows if row["kind"] == "leak"}
    assert len(leaks) == 20
    assert {who for who, row in leaks.items() if row["p_adj"] <= 0.01} == KNOWING
    assert all(leaks[who]["points"]["low"] > 15 for who in KNOWING)
    assert {row["subject"] for row in rows if row["kind"] == "group" and row["p_adj"] <= 0.01} == {"base-a"}
    [of_base] = [row["points"] for row in rows if row["subject"] == "base-a"]
    assert (
        15 < of_base["low"] < of_base["value"] == pytest.approx(fmean(leaks[who]["points"]["value"] for who in KNOWING))
    )
    page = Path("report.html").read_text()
    assert page.count(">All old<") == page.count(">All new<") == len([*KNOWING, "base-a"])
    assert not re.search(
        "submitter|exposed|fresh", re.sub("<style>.*?</style>", "", page, flags=re.DOTALL), re.IGNORECASE
    )
    assert "near-duplicate runs: not every result says how many tool calls were made" in page
    assert "<script" not in page
    again = say(*command.split()[1:])
    assert (again.code, "is there already" in again.err) == (8, True)


def test_the_example_is_what_its_program_makes(tmp_path):
    (tmp_path / "simulate.py").write_bytes((EXAMPLE / "simulate.py").read_bytes())
    subprocess.run([sys.executable, tmp_path / "simulate.py"], check=True)
    assert (tmp_path / "results.csv").read_bytes() == (EXAMPLE / "results.csv").read_bytes()


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Return a table of three agents on four tasks, two of them of March; they differ only by name."""
    path = tmp_path / "few.csv"
    rows = (f"{who},t{n},2024-0{n}-01,{n % 2},base" for who in ("ada", "bob", "<b>eve") for n in range(2, 6))
    path.write_text("\n".join(("agent,task,day,passed,group", *rows)))
    return path


def test_of_three_agents_is_told_why_none_was_tested(few, say, tmp_path):
    said = say("watch", "scan", few, "--exposed-until", "2024-03-31", "--html", tmp_path / "few.html")
    assert (said.code, said.err) == (0, "")
    assert "few: 3 agents, 4 tasks, 2 of them up to 2024-03-31" in said.out
    assert "leaks: 3 agents; a test needs 5" in said.out
    page = (tmp_path / "few.html").read_text()
    assert "Too few peers" in page
    assert "&lt;b&gt;eve" in page
    assert "<b>eve" not in page


def test_odd_leaderboards_are_told_in_figures_that_can_be(say, tmp_path):
    """All pass all but one agent, who passes nothing; then three old tasks, all passed by agents that fail new ones."""
    head = "agent,task,day,passed"
    all_pass = (f"a{who},t{n},2024-0{1 + n % 6}-01T10:00:00Z,{int(who > 0)}" for who in range(12) for n in range(12))
    few_old = (f"a{who},t{n},2024-0{1 + n % 6}-01,{int(n % 6 < 1 or who > 9)}" for who in range(12) for n in range(18))
    for name, rows in (("ties", all_pass), ("few-old", few_old)):
        (tmp_path / f"{name}.csv").write_text("\n".join((head, *rows)))
        said = say(
            "watch", "scan", tmp_path / f"{name}.csv", "--exposed-until", "2024-01-31", "--html", tmp_path / name
        )
        assert (said.code, said.err) == (0, "")
        assert "-0.0" not in said.out
        assert all(-100 <= float(value) <= 100 for value in re.findall(r"[+-]\d+\.\d", said.out))
        assert "review" not in said.out


def test_agents_with_two_cutoffs_are_on_one_page_each_at_their_own(say, tmp_path):
    rows = (
        f"{who},t{n},2024-0{n}-01,{(who * n) % 3 // 2},{('2024-03', '2024-05-15')[who % 2]},base-{who % 2}"
        for who in range(12)
        for n in range(1, 9)
    )
    (tmp_path / "two.csv").write_text("\n".join(("agent,task,day,passed,cutoff,group", *rows)))
    said = say("watch", "scan", tmp_path / "two.csv", "--html", tmp_path / "two.html", "--json")
    assert said.code == 0, said.err
    assert said.data["leaderboard"]["scans"] == [{"until": "2024-03-31", "old": 3}, {"until": "2024-05-15", "old": 5}]
    points = {row["submitter"]: row["exposed"] for row in said.data["report"]["expected"]["points"]}
    assert points == {str(who): (3, 5)[who % 2] for who in range(12)}
    assert "3 published up to 2024-03-31; 5 published up to 2024-05-15" in (tmp_path / "two.html").read_text()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("few.csv",), 2, "few.csv: nothing says which tasks agents could have known; name a day with --exposed-until"),
        (("few.csv", "--exposed-until", "March"), 2, "--exposed-until 'March' is no day; write YYYY-MM-DD"),
        (("few.csv", "--exposed-until", "2025-01-01"), 2, "has results on both sides of its cutoff; name a day"),
        (("few.csv", "few.csv", "--exposed-until", "2024-03-31"), 2, "'ada' has a result of 't2' already"),
        (("few.csv", "--exposed-until", "2024-03-31", "--out", "few.csv"), 2, "few.csv: it is an input, or named"),
        (("few.csv", "--exposed-until", "2024-03-31", "--html", "x", "--out", "x"), 2, "or named twice"),
        (("gone.csv", "--exposed-until", "2024-03-31"), 2, "gone.csv: it cannot be read (No such file or directory)"),
        (("gone.jsonl", "--exposed-until", "2024-03-31"), 2, "are for leaderboards; name a table instead"),
        (("few.parquet", "--exposed-until", "2024-03-31"), 6, "Parquet is read by pyarrow, which is not installed"),
    ],
)  # fmt: skip
def test_what_cannot_be_scanned_is_one_sentence_and_nothing_is_written(words, code, sentence, few, say, monkeypatch):  # noqa: PLR0917 - fixtures
    monkeypatch.chdir(few.parent)
    monkeypatch.setattr("quarterturn.findings.leaderboard_scan.find_spec", lambda _: None)
    before = few.read_bytes()
    said = say("watch", "scan", *words)
    assert (said.code, said.out) == (code, "")
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1
    assert [path.name for path in few.parent.iterdir()] == ["few.csv"]
    assert few.read_bytes() == before
