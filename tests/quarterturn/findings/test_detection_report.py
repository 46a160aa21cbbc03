"""Tests of the detection report and the linked leaderboard after two months, through the command line."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn.app import Application
from rotation.calendar import Month
from sandbox.results.outcome import TaskRun
from vault.task.document import Task
from verifiers.language.verdict import Verdict

from ...rotation.conftest import outcome
from .. import invented_runs
from ..conftest import MONTH, made_once, make, stocked_up
from ..guides import GuideShell, commands

pytestmark = pytest.mark.slow

GUIDE = "read-the-findings.md"
PEERS = ("ada", "bob", "carol", "dan", "mallory")


def play(house: Application, name: str, passes: slice | None, step: int = 1) -> None:
    """Open, fill and close a run that passes these tasks, the next cohort to retire first; all are unknown if None."""
    live = [task for cohort in house.benchmark.months.cohorts("live") for task in cohort.tasks]
    passed = set(live[passes]) if passes else set()

    def invent(_: int, task: Task) -> TaskRun:
        made = outcome(task.id, task.category, passed=task.id in passed, calls=1 + (live.index(task.id) * step) % 5)
        return made if passes else replace(made, verdict=Verdict.UNKNOWN, failure="ours", code="judge-lost")

    invented_runs.play(house, name, invent)


def played(folder: Path, peers: tuple[str, ...]) -> Path:
    make(folder, tasks=5, live=True, template="t{number}")
    house = Application(folder, None)
    for step, name in enumerate(peers, 1):
        play(house, name, slice(step, None, 2), step)
    house.detection.detectors.run("results of the first month")
    stocked_up(house, 1, 5, template="t{number}")
    house.month.rotation.run(Month.parse(MONTH))
    for step, name in enumerate(peers, 1):
        play(house, name, slice(0, 18) if name == "mallory" else slice(step % 3, None, 2), step)
    house.detection.detectors.run("results of the second month")
    house.close()
    return folder


@pytest.fixture
def months(templates: Path, tmp_path: Path) -> Path:
    """Return a home of two months of five submitters; in the second, one passes every old task and no new one."""
    made = made_once(templates / "watch", lambda folder: played(folder, PEERS))
    return Path(shutil.copytree(made, tmp_path / "home"))


@pytest.mark.full
def test_findings_of_both_months_are_rows(say, months):
    data = say("watch", "list", "--all", "--home", months, "--json").data
    looks = [(one["month"], one["runs"], one["submitters"]) for one in data["looks"]]
    assert looks == [("2026-12", 5, 5), ("2027-01", 5, 5)]
    assert {one["kind"] for one in data["findings"]} >= {"leak", "copy"}
    assert {one["month"] for one in data["findings"] if one["p_value"] is not None} == {"2027-01"}
    assert {one["subject"] for one in data["findings"] if one["kind"] == "leak"} == set(PEERS)


@pytest.mark.full
def test_the_report_is_one_file_and_its_figures_another_and_nothing_else_is_changed(say, months, tmp_path):
    before = say("watch", "list", "--all", "--home", months, "--json").data
    html, figures = tmp_path / "out" / "january.html", tmp_path / "january.json"
    words = ("watch", "report", "--month", "2027-01", "--html", html, "--figures", figures, "--home", months)
    said = say(*words, "--json")
    assert said.code == 0, said.err
    page, document = html.read_text(encoding="utf-8"), json.loads(figures.read_bytes())
    assert hashlib.sha256(figures.read_bytes()).hexdigest() in page
    assert document == {name: said.data[name] for name in document}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["home", "january.json", "out"]
    assert [file.name for file in html.parent.iterdir()] == ["january.html"]
    assert all(name in page for name in PEERS)
    kept = {(one["kind"], one["subject"]) for one in say("watch", "list", "--home", months, "--json").data["findings"]}
    assert {(one["kind"], one["subject"]) for one in document["findings"]} == kept
    assert all(one["number"] for one in document["findings"]), "the last look found the same"
    for words_of_tasks in ("Make the folder", "number-", "success_predicate"):
        assert words_of_tasks not in page + figures.read_text(encoding="utf-8")
    assert say("watch", "list", "--all", "--home", months, "--json").data == before
    assert "report on 2027-01" in say("access", "log", "--home", months).out


@pytest.mark.full
def test_a_report_that_cannot_be_written_is_refused_and_writes_nothing(say, months, tmp_path):
    html, mine = tmp_path / "r.html", tmp_path / "r.json"
    mine.write_text("mine")
    for month, figures, code, sentence in (
        ("2027-01", ("--figures", mine), 8, "is there already"),
        ("2027-01", ("--figures", html), 2, ""),
        ("january", (), 2, "january"),
        ("2027-05", (), 3, "2027-05"),
    ):
        say("watch", "report", "--month", month, "--html", html, *figures, "--home", months).refuses(code, sentence)
    assert (mine.read_text(), html.exists()) == ("mine", False)


def test_a_month_without_a_settled_verdict_is_said(say, tmp_path, opened):
    make(tmp_path / "home", tasks=5, live=True, template="t{number}")
    play(opened(tmp_path / "home"), "ada", None)
    say("watch", "report", "--month", "2026-12", "--html", tmp_path / "r.html", "--home", tmp_path / "home").refuses(
        3, "no result of 2026-12 has a settled verdict"
    )
    assert say("leaderboard", "--linked", "--month", "2026-12", "--home", tmp_path / "home").code == 0


@pytest.mark.full
def test_the_first_month_has_a_report_without_tests(say, months, tmp_path):
    said = say("watch", "report", "--month", "2026-12", "--html", tmp_path / "r.html", "--home", months, "--json")
    assert said.code == 0, said.err
    assert (said.data["report"]["first"], said.data["report"]["tests"]) == (True, [])
    assert "The first month." in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.full
def test_linked_scores_stand_beside_the_raw_ones(say, months):
    words = ("leaderboard", "--month", "2027-01", "--home", months)
    plain, linked = say(*words, "--json").data, say(*words, "--linked", "--json").data
    assert [{name: value for name, value in one.items() if name != "compared"} for one in linked] == plain
    for one in linked:
        compared = one["compared"]
        assert compared["raw"]["value"] == one["whole"]["success_rate"]["value"]
        assert 0 <= compared["linked"]["low"] <= compared["linked"]["value"] <= compared["linked"]["high"] <= 1
        assert (compared["linked"]["value"] * 200).is_integer(), "live figures are rounded to half a point"
    text = say(*words, "--linked").out
    assert "linked" in text
    assert "linked" not in say(*words).out


@pytest.mark.full
def test_a_later_month_moves_no_linked_score_of_an_earlier_leaderboard(say, months, opened):
    words = ("leaderboard", "--month", "2026-12", "--home", months, "--linked", "--json")
    before = say(*words).data
    play(opened(months), "ada", slice(None, None, 3))
    assert say(*words).data == before


@pytest.mark.full
def test_the_guide_to_the_watch_works_line_by_line(say, months, monkeypatch):
    shell = GuideShell(months.parent, say, monkeypatch)
    assert len(commands(GUIDE)) == 5
    for command in commands(GUIDE):
        shell.type(command)
    assert (months.parent / "january.html").stat().st_size > 10_000
