"""Journey of an accusation through the command line: marked, released, written to a file, and checked by a stranger."""

import re
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn.app import Application
from rotation.calendar import Month
from rotation.findings.store import NewFinding
from rotation.month.sets import Stratum
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, Transcript
from vault.task.document import Task

from ...rotation.conftest import outcome, played
from .. import invented_runs
from ..approvals.test_approvals import guard, sign
from ..conftest import MONTH, made_once, make, stocked_up, written

pytestmark = pytest.mark.slow


def varied(stratum: Stratum, number: int) -> dict:
    """Write a task by hand that each submitter is served a variant of."""
    names = ("ash", "birch", "cedar", "elm")
    free = {name: {"from": [f"{name}{number}x{place}" for place in range(64)]} for name in names}
    task = written(stratum, number)
    return task | {"free": free, "goal": f"{task['goal']} It is for {', '.join(f'{{{{{name}}}}}' for name in free)}."}


def play(house: Application, name: str) -> list[str]:
    """Play a run that passes everything in one call each; gives the tasks of the cohort that retires first."""
    call = CallRecord("filesystem.x", {"path": "é"}, listed=True, error=False, injected=False, result="ok", seconds=0.1)
    transcript = Transcript((call,), "done", "answered")

    def invent(_: int, task: Task) -> TaskRun:
        return played(task, replace(outcome(task.id, task.category, passed=True), transcript=transcript))

    return list(invented_runs.play(house, name, invent).cohorts[0].tasks)


def accused(folder: Path) -> None:
    """Play a month of two submitters, with findings about a task and about the first of them."""
    with closing(Application(make(folder, tasks=5, live=True, write=varied), None)) as house:
        (task, *_), _ = play(house, "mallory"), play(house, "ada")
        month = Month.parse(MONTH)
        with house.benchmark.months.transaction() as session:
            house.benchmark.findings.add(session, NewFinding("exposure", task, month, detail="served 81 times"))
            house.benchmark.findings.add(session, NewFinding("unclear", "mallory", month, detail="in run 1"))
        stocked_up(house, 1, 5, write=varied)


def copy_of_accused(templates: Path, to: Path) -> Path:
    return Path(shutil.copytree(made_once(templates / "accused", accused), to))


@pytest.fixture
def home(templates: Path, tmp_path: Path) -> Path:
    return copy_of_accused(templates, tmp_path / "home")


@pytest.fixture
def evidence(home, say):
    """Type `watch evidence` in the home, as ada."""
    return lambda *words, code=0: checked(say("watch", "evidence", *words, "--as", "ada", "--home", home), code)


def checked(said, code):
    assert said.code == code, said.err or said.out
    return said


def turned(home: Path) -> Path:
    house = Application(home, None)
    house.month.rotation.run(Month.parse(MONTH))
    house.close()
    return house.home.places.releases / Month.parse(MONTH).release


def subject(home: Path, say) -> str:
    """Return the task that the first finding is about."""
    findings = say("watch", "list", "--home", home, "--json").data["findings"]
    return next(finding["subject"] for finding in findings if finding["number"] == 1)


@pytest.mark.full
def test_an_accusation_is_published_and_anybody_checks_it(home, say, evidence, tmp_path):
    task, file = subject(home, say), tmp_path / "evidence.json"
    refused = evidence(1, "--run", 1, "--out", file, code=4)
    assert f"task {task} is private until the turn of 2026-12 publishes cohort-2026-12" in refused.sentence
    assert not file.exists()
    assert "will be in the release" in evidence(1, "--run", 1, "--publish").out
    release, key = turned(home), home / "public" / "log.vkey"
    evidence(2, "--task", task, "--run", 1, "--out", file)
    audit = ("audit", release, "--key", key, "--evidence", file)
    argument = (
        f"run 1 is one of mallory in 2026-12; its result on {task} was bound when it ended; "
        "its transcript was bound with it (calls: 1); "
        "it was served the variant of mallory in 2026-12, which is that of 0 other recipients"
    )
    given, own = (f"line 1 of {name}: {argument}" for name in ("evidence.json", "evidence.jsonl"))
    step = checked(say(*audit, "--json"), 0).data["steps"][13]
    assert step["proved"] == f"the evidence holds (documents: 2). {given}. {own}"
    assert given in checked(say(*audit), 0).out
    alone = say("audit", release, "--key", key, "--json").data["steps"][13]
    assert alone["proved"] == f"the evidence holds (documents: 1). {own}", "what a release carries is checked"


def test_what_cannot_be_done_is_said(home, say, evidence, tmp_path):
    file = tmp_path / "evidence.json"
    assert "is about several results: add --task and --run" in evidence(2, "--out", file, code=2).sentence
    assert "there is no finding 9" in evidence(9, "--run", 1, "--publish", code=3).sentence
    other = evidence(2, "--task", subject(home, say), "--run", 2, "--publish", code=8)
    assert "name another --task or --run" in other.sentence
    assert "give either --out FILE or --publish" in evidence(1, "--run", 1, code=2).err
    release = turned(home)
    assert "is in no release to come" in evidence(1, "--run", 1, "--publish", code=4).sentence
    evidence(1, "--run", 1, "--out", file)
    assert "is not written over" in evidence(1, "--run", 1, "--out", file, code=8).sentence
    say("audit", release, "--key", home / "public" / "log.vkey", "--evidence", tmp_path / "none").refuses(
        3, "there is no file"
    )


def test_two_maintainers_sign_for_an_export_and_nothing_is_opened_before(home, say, evidence, tmp_path, opened):
    guard(home, "ada", "bob", "cyd")
    asked = evidence(1, "--run", 1, "--publish", code=4).sentence
    assert "(show in plain text: evidence of finding 1)" in asked
    house = opened(home)
    assert not [entry for entry in house.home.vault.access_log() if entry.why == "evidence of finding 1"]
    request = house.auth.approvals.request(re.findall(r"request (a-\w+)", asked)[0])
    assert request.detail["run"] == 1
    sign(house, request, "ada", "bob")
    evidence(1, "--run", 1, "--publish")
    assert "evidence of finding 1" in say("access", "log", "--home", home).out
