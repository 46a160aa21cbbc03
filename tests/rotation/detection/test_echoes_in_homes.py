"""Tests of echoes from end to end: drawn tasks of all servers in a home, real programs in the bwrap box, and its scan.

A leaker plays the memorised solutions of what another party was served; an honest agent guesses from the very lists.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from grammars.draw import variants
from grammars.draw.sample import sample
from grammars.language.load import library
from quarterturn.progress import NullProgress
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.settings import RunSettings
from rotation.detection.served_choices import HOUSE
from rotation.errors import Refused
from rotation.exposure.store import ExposureLimits
from rotation.findings.store import Finding
from rotation.month.sets import SetSpec, Stratum
from rotation.runs.run_tasks import OpenRun
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.endpoint.address import parse
from sandbox.results.outcome import TaskRun
from sandbox.results.said import SaidChoices
from sandbox.runs import submission as submissions
from vault.task.document import Task
from vault.task.variant import assigned, filled

from ...shipped import shipped
from ..conftest import BEFORE, FIRST, Benchmark, NamedBox, OwnHome, document, submission

pytestmark = pytest.mark.slow

GUESSES = 12  # of each list, in each task
ORACLE = Path(__file__).parents[3] / "examples" / "agents" / "oracle" / "agent.py"
NOTEBOOK_AGENT = """\
import json, os, re
from oracle import Gateway

def words(text):
    return set(re.findall(r"\\w+", text.lower()))

with open(os.path.join(os.path.dirname(__file__), "notebook.json")) as file:
    notebook = json.load(file)
gateway = Gateway(os.environ["QUARTERTURN_URL"])
task = gateway.get("/task")
goal = words(task["goal"])
page = max(notebook["pages"], key=lambda page: len(goal & words(page["goal"])) / len(goal | words(page["goal"])))
gateway.initialize()
if notebook["guesses"]:
    gateway.request("tools/call", {"name": task["tools"][0]["name"], "arguments": {"path": notebook["guesses"]}})
for call in page["calls"]:
    gateway.request("tools/call", {"name": call["tool"].replace(".", "__", 1), "arguments": call["arguments"]})
if page["answer"] is not None:
    gateway.send("POST", "/answer", {"answer": page["answer"]})
"""
"""An agent that looks its goal up in a notebook, says what it guesses, and does what stands there to the letter."""


@dataclass(frozen=True)
class Drawn:
    """A drawn task with the calls and the answer that solve it; both still have placeholders."""

    task: Task
    solution: Mapping[str, Any]

    def page(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Return what somebody wrote down who was shown these values."""
        return {"goal": filled(self.task.goal, values), **filled(dict(self.solution), values)}


SERVERS = ("filesystem", "git", "memory", "sqlite")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SERVERS, id="four servers"),
        pytest.param(tuple(library()), id="all servers", marks=pytest.mark.exhaustive),
    ],
)
def drawn(request: pytest.FixtureRequest) -> list[Drawn]:
    dice, made = Random(20261125), []
    for name in request.param:
        draft = sample(shipped(name), dice)
        made.append(Drawn(Task.parse(draft.task), draft.provenance["solutions"][0]))
    return made


@pytest.fixture
def home(drawn: Sequence[Drawn], tmp_path: Path) -> Iterator[Benchmark]:
    """Yield a home in its first month whose set is one drawn task of each server."""
    strata = [Stratum(one.task.server, one.task.category, one.task.difficulty) for one in drawn]
    made = Benchmark(tmp_path, f"sqlite:///{tmp_path / 'quarterturn.db'}", SetSpec("drawn", Counter(strata), cohorts=1))
    for number, one in enumerate(drawn):
        made.add(one.task.document, f"s-{number}")
    made.rotation.run(BEFORE)
    yield made
    made.engine.dispose()


def echoes(home: Benchmark) -> dict[str, Finding]:
    home.scanner(ExposureLimits()).run("test")
    return {one.subject: one for one in home.findings.all() if one.kind == "echo"}


def played(home: Benchmark, who: str, folder: Path, pages: Sequence[Mapping[str, Any]], guesses: str = "") -> None:
    """Play a run of a program with a notebook as a worker does, in the bwrap box."""
    nobody = SimpleNamespace(run=lambda _why: None, update=lambda: None)  # looks at results, or shows them
    player = PrivateRuns(
        home.official,
        home.run_tasks,
        home.runs,
        settings=RunSettings(workers=2),
        facilities=nobody,
        submissions=nobody,
        detection=nobody,
        public_view=nobody,
    )
    folder.mkdir()
    shutil.copy(ORACLE, folder / "oracle.py")
    (folder / "agent.py").write_text(NOTEBOOK_AGENT)
    (folder / "notebook.json").write_text(json.dumps({"pages": list(pages), "guesses": guesses}))
    agent = submissions.command(f"python3 {folder / 'agent.py'}", submitter=who)
    opened, _ = player.play(agent, BwrapBox(run_class="unofficial"), NullProgress())
    outcomes = home.runs.results(opened.record.number, who="test", why="test")
    assert len(outcomes) == len(pages)
    assert all(outcome.transcript.calls and "said" in outcome.phases for outcome in outcomes)


@pytest.mark.box
@pytest.mark.needs("databases")  # one task of each server
def test_who_plays_from_a_notebook_of_another_is_found_in_the_first_month_and_who_guesses_is_not(home, drawn, tmp_path):
    month = str(FIRST)
    for name in ("ada", "bob", "carol"):
        home.finish(home.open(name))

    def pages(name):
        keys = [home.vault.variant_key(one.task.id) for one in drawn]
        return [one.page(assigned(key, name, month, one.task.free)) for key, one in zip(keys, drawn, strict=True)]

    dice, lists = Random(7), [choices for one in drawn for choices in one.task.free.values()]
    played(home, "mallory", tmp_path / "leaker", pages("bob"))
    guesses = " ".join(dice.choice(choices) for choices in lists for _ in range(GUESSES))
    played(home, "dave", tmp_path / "honest", pages("dave"), guesses)
    found = echoes(home)
    assert found.keys() == {"mallory", "dave"}, "nobody else said anything that they were not shown"
    assert (found["mallory"].status, found["mallory"].state) == ("review", "open")
    source, tasks, *_ = found["mallory"].detail.split("; ")
    assert source.startswith(f"bob|{month}, with probability ")
    assert len(shown := tasks.removeprefix("look at ").split(", ")) == 3
    assert set(shown) <= {one.task.id for one in drawn}
    assert found["mallory"].p_value < 1e-10
    assert (found["dave"].status, found["dave"].detail) == ("clean", "")


# -- what is counted, on plain tasks whose runs are written down ------------------------------------------------------

SIZE = 128
HOSTED = submissions.endpoint(parse("https://agent.example.org/tasks"), submitter="host")
FREE = {name: {"from": [f"{name}{number}x" for number in range(SIZE)]} for name in ("folder", "noun", "code")}


def _with_free_parameters(home: Benchmark) -> None:
    for number, stratum in enumerate(stratum for stratum in home.spec.per_cohort for _ in range(5)):
        plain = document(number, stratum)
        goal = plain["goal"] + " Then {{folder}} {{noun}} {{code}}."
        home.add(plain | {"goal": goal, "free": FREE}, f"s-{number}")
    home.rotation.run(BEFORE)


@pytest.fixture
def varied(own_home: OwnHome) -> Benchmark:
    """Return a home in its first month whose tasks have three free parameters."""
    return own_home(_with_free_parameters)[0]


def numbers(home: Benchmark, task: str, name: str, month: Any) -> dict[str, int]:
    """Return the numbers of the choices that a submitter was served of a task."""
    lists = {parameter: choices["from"] for parameter, choices in FREE.items()}
    values = assigned(home.vault.variant_key(task), name, str(month), lists)
    return {parameter: lists[parameter].index(value) for parameter, value in values.items()}


def says(
    home: Benchmark, run: OpenRun, told: Callable[[str], Mapping[str, int] | None], *, replied: bool = False
) -> None:
    """Finish a run that says these choices of each task, as an agent or as its model."""

    def result(place: int, task: str) -> TaskRun:
        choices = (told(task) or {}).items()
        said = [SaidChoices(name, SIZE, (one,), (one,) if replied else ()) for name, one in choices]
        return replace(home.done(task), said=tuple(said))

    home.finish(run, result)


def some(tasks: Iterable[str], count: int = 6) -> set[str]:
    return set(sorted(tasks)[:count])


@pytest.mark.full
def test_own_values_of_an_earlier_month_are_echoes_too_and_a_later_month_changes_no_earlier_one(varied):
    home, second = varied, FIRST.plus(1)
    for name in ("ada", "bob"):
        says(home, home.open(name), lambda task: {"folder": 5})
    first = echoes(home)
    assert "review" not in {one.status for one in first.values()}
    home.rotation.run(FIRST)
    run = home.open("ada")
    old = some(set(run.tasks) - set(home.months.cohorts("live")[-1].tasks))
    says(home, run, lambda task: numbers(home, task, "ada", FIRST) if task in old else None)
    home.scanner(ExposureLimits()).run("test")
    later = [one for one in home.findings.all(second) if one.kind == "echo"]
    assert [(one.subject, one.status) for one in later] == [("ada", "review")]
    assert later[0].detail.startswith("own earlier month, with probability ")
    before = home.findings.all(FIRST)
    assert {one.subject: one for one in before} == first
    home.findings.failed(FIRST, ValueError())
    home.scanner(ExposureLimits()).run("test")
    assert home.findings.all(FIRST) == before, "tested again, with later results there"


def test_an_insider_s_first_choices_are_a_source_that_is_no_submitter(varied):
    for name in ("ada", "bob"):
        varied.finish(varied.open(name))
    run = varied.open("eve")
    old = some(run.tasks)
    says(varied, run, lambda task: dict.fromkeys(FREE, 0) if task in old else None)
    found = echoes(varied)["eve"]
    assert (found.status, found.detail.partition(",")[0]) == ("review", f"{HOUSE}|first choices")


def test_what_a_submitter_could_read_outside_the_sandbox_is_left_out(varied):
    varied.finish(varied.open("bob"))
    hosted = varied.finish(varied.official.open(HOSTED, NamedBox()))
    run = varied.open("host")
    read, other = set(hosted.tasks), some(set(run.tasks) - set(hosted.tasks), 1)
    says(varied, run, lambda task: numbers(varied, task, "bob", FIRST) if task in read | other else None)
    (row,) = varied.sealed_results.table("test", varied.sealed_results.runs(), said=True).said
    assert {row.task} == other


def test_what_a_model_replied_first_is_a_finding_about_its_provider(varied, monkeypatch):
    for name in ("ada", "bob"):
        varied.finish(varied.open(name))
    judged = partial(varied.run_tasks.serve, judged_by="judge")  # whose provider reads the answers of the same runs
    monkeypatch.setattr(varied.run_tasks, "serve", judged)
    for name in ("carol", "dave"):
        run = varied.official.open(submission(name), NamedBox(), "acme")
        old = some(run.tasks)
        told = lambda task, old=old: numbers(varied, task, "bob", FIRST) if task in old else None  # noqa: E731
        says(varied, run, told, replied=True)
    found = echoes(varied)
    assert found.keys() == {"upstream:acme"}
    assert (found["upstream:acme"].status, found["upstream:acme"].detail.partition(",")[0]) == (
        "review",
        f"bob|{FIRST}",
    )
    with pytest.raises(Refused, match="what a model replied stands in no transcript"):
        varied.evidence.require_about(found["upstream:acme"], min(old), run.record.number)


@pytest.mark.full
def test_a_provider_is_tested_in_later_months_as_a_submitter_is(varied):
    def month(told):
        for name, upstream in (("carol", "acme"), ("dave", None)):
            run = varied.official.open(submission(name), NamedBox(), upstream)
            says(varied, run, told, replied=upstream is not None)
        varied.scanner(ExposureLimits()).run("test")

    month(lambda task: {"folder": 5})
    varied.rotation.run(FIRST)
    month(lambda task: None)
    later = [one.subject for one in varied.findings.all(FIRST.plus(1)) if one.kind == "echo"]
    assert sorted(later) == ["dave", "upstream:acme"]


def test_assignments_are_looked_up_after_an_entry_in_the_access_log_and_only_where_something_was_said(varied):
    varied.finish(varied.open("ada"))
    assert echoes(varied) == {}
    run = varied.open("bob")
    says(varied, run, lambda task: {"noun": 1} if task == run.tasks[0] else None)
    assert echoes(varied).keys() == {"bob"}
    watch = [entry.what for entry in varied.vault.access_log() if entry.who == "watch"]
    assert watch == ["blobs/closing/* (1)", "blobs/closing/* (2)", "variants/* (1)"]
    assert not [entry for entry in varied.vault.access_log() if entry.who == "watch" and entry.what.startswith("task/")]


def test_rows_hold_what_the_case_files_field_holds(varied):
    for name in ("ada", "bob"):
        varied.finish(varied.open(name))
    run, house = varied.open("carol"), {variants.tested_choice(n, SIZE) for n in range(variants.FURTHER + 1)}

    def only_bobs(task):
        bobs, *others = (numbers(varied, task, who, FIRST) for who in ("bob", "ada", "carol"))
        return not any(bobs[name] in house | {one[name] for one in others} for name in bobs)

    task = next(filter(only_bobs, run.tasks))
    theirs = numbers(varied, task, "bob", FIRST)
    says(varied, run, lambda one: theirs if one == task else None)
    (row,) = varied.sealed_results.table("test", varied.sealed_results.runs(), said=True).said
    assert (row.rotation, row.submitter, row.task, row.upstream) == (1, "carol", task, "")
    for values in row.values:
        name, own = values.parameter, numbers(varied, task, "carol", FIRST)
        assert (values.choices, values.said, values.own) == (SIZE, {theirs[name]}, {own[name]: (1,)})
        assert values.elsewhere == {theirs[name]: (f"bob|{FIRST}",)}
        assert values.drawn == {numbers(varied, task, who, FIRST)[name] for who in ("ada", "bob")}
