"""Tests of the rows of a run: its lifecycle, fenced attempts, sealed results."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlmodel import SQLModel

from sandbox.boxes import box
from sandbox.errors import NotAllowed, NotFound, Refused
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import submission
from sandbox.runs.store import ENDED, TRANSITIONS, Runs, RunState
from sandbox.runs.tables import ResultRow
from sandbox.transcript import CallRecord, Transcript
from sandbox.world.frozen import FrozenState
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.store.tasks import Vault
from verifiers.language.verdict import Evidence, Verdict

pytestmark = pytest.mark.both_databases
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
SECRET = "the-ledger-of-margarethe"


class Somewhere(NamedTuple):
    """A box that is only a name; nothing is started here."""

    name: str = "bwrap"
    official: bool = False


class Home(NamedTuple):
    runs: Runs
    vault: Vault
    folder: Path


@pytest.fixture
def home(tmp_path, url):
    engine = open_engine(url)
    SQLModel.metadata.create_all(engine)
    vault = Vault(engine, FileKeyRing.create(tmp_path / "ring.json", None), lambda: NOW)
    yield Home(Runs(engine, vault, lambda: NOW), vault, tmp_path)
    engine.dispose()


def a_run(task: str = "t-aaaaaaaaaaaaaaaa", **changes) -> TaskRun:
    call = CallRecord("filesystem.read_text_file", {"path": SECRET}, True, False, False, SECRET, 0.25)
    made = TaskRun(
        task_id=task,
        category="composition",
        max_steps=9,
        verdict=Verdict.TRUE,
        evidence=Evidence("all", Verdict.TRUE, children=(Evidence("answer.equals", Verdict.TRUE, {"text": SECRET}),)),
        transcript=Transcript((call,), SECRET, "answered"),
        attempts=2,
        phases={"world": 0.1},
        output=SECRET,
    )
    return replace(made, **changes)


def opened(home: Home, tasks: int = 1) -> int:
    made = submission.command("sleep 1", submitter="ada")
    return home.runs.open(made, month="2026-12", track="box", tasks=tasks, box=Somewhere()).number


def test_a_run_lives_from_queued_to_done(home):
    number = opened(home)
    assert home.runs.get(number).state is RunState.QUEUED
    attempt = home.runs.start(number).attempt
    home.runs.record(number, attempt, a_run())
    record = home.runs.finish(number, attempt)
    assert (record.state, record.attempt, record.ended_at) == (RunState.DONE, 1, NOW)
    assert home.runs.list(state="done") == (record,)
    assert home.runs.list(month="2027-01") == ()


def test_numbers_are_given_once_and_without_a_gap(home):
    assert [opened(home) for _ in range(3)] == [1, 2, 3]


def test_a_recorded_result_comes_back_whole_and_the_opening_is_logged(home):
    number = opened(home, tasks=2)
    home.runs.start(number)
    broken = a_run("t-bbbbbbbbbbbbbbbb", verdict=Verdict.UNKNOWN, failure="unclear", code="gateway-lost")
    second, first = replace(broken, earlier=(replace(broken, code="server-lost"), broken)), a_run()
    home.runs.record(number, 1, second)
    home.runs.record(number, 1, first)
    assert home.runs.results(number, who="ada", why="scoring") == (first, second)
    assert [(entry.who, entry.why) for entry in home.vault.access_log()] == [("ada", "scoring")] * 2
    assert home.runs.finished(number) == {first.task_id, second.task_id}


def test_even_what_no_canonical_document_may_hold_is_kept(home):
    """An agent may send half a surrogate pair, or a number that no double holds."""
    number = opened(home)
    home.runs.start(number)
    call = CallRecord("x", {"a": "\ud800", "n": 2**70}, False, True, False, "", 0.0)
    run = a_run(transcript=Transcript((call,), "\udfff", "answered"))
    home.runs.record(number, 1, run)
    assert home.runs.results(number, who="ada", why="scoring") == (run,)


def test_no_column_shows_what_a_task_came_to(home):
    number = opened(home)
    home.runs.start(number)
    home.runs.record(number, 1, a_run())
    for file in home.folder.glob("quarterturn.db*"):
        assert SECRET.encode() not in file.read_bytes()
    assert set(ResultRow.__table__.columns.keys()) == {"id", "run", "task", "attempt", "blob"}


def test_a_worker_that_was_given_up_can_write_nothing(home):
    number = opened(home)
    home.runs.start(number)
    home.runs.start(number)
    with pytest.raises(NotAllowed, match="attempt 1 was given up"):
        home.runs.record(number, 1, a_run())
    with pytest.raises(NotAllowed, match="attempt 1 was given up"):
        home.runs.finish(number, 1)
    assert [home.runs.held(number, attempt) for attempt in (1, 2)] == [False, True]
    home.runs.record(number, 2, a_run())
    assert home.runs.finish(number, 2).attempt == 2


def test_the_next_attempt_takes_over_what_was_finished(home):
    number = opened(home, tasks=2)
    home.runs.start(number)
    home.runs.record(number, 1, a_run())
    home.runs.start(number)
    with pytest.raises(Refused, match="has a result"):
        home.runs.record(number, 2, a_run(verdict=Verdict.FALSE))
    home.runs.record(number, 2, a_run("t-bbbbbbbbbbbbbbbb"))
    assert home.runs.finish(number, 2).state is RunState.DONE


def test_a_run_with_a_task_missing_is_not_done(home):
    number = opened(home, tasks=2)
    home.runs.start(number)
    home.runs.record(number, 1, a_run())
    with pytest.raises(NotAllowed, match="1 of 2 results"):
        home.runs.finish(number, 1)
    assert home.runs.get(number).state is RunState.RUNNING


def test_a_task_too_many_is_refused(home):
    number = opened(home)
    home.runs.start(number)
    home.runs.record(number, 1, a_run())
    with pytest.raises(Refused, match="all of their results"):
        home.runs.record(number, 1, a_run("t-bbbbbbbbbbbbbbbb"))


def test_a_result_that_cannot_be_sealed_leaves_no_row(home, monkeypatch):
    number = opened(home)
    home.runs.start(number)

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(home.vault, "seal_blob", full)
    with pytest.raises(OSError, match="disk full"):
        home.runs.record(number, 1, a_run())
    assert home.runs.finished(number) == set()


@pytest.mark.parametrize("event", ["finish", "abort"])
def test_an_ended_run_stays_ended(home, event):
    number = opened(home)
    home.runs.start(number)
    home.runs.record(number, 1, a_run())
    end = {"finish": (number, 1), "abort": (number, "withdrawn")}
    ended = getattr(home.runs, event)(*end[event])
    assert ended.state in ENDED
    for again, arguments in end.items():
        with pytest.raises(NotAllowed, match=re.escape(f"run {number} is {ended.state}")):
            getattr(home.runs, again)(*arguments)
    with pytest.raises(NotAllowed):
        home.runs.start(number)
    assert home.runs.get(number) == ended


def test_every_state_has_its_row():
    reached = set(TRANSITIONS.values()) | {RunState.QUEUED}
    assert reached == set(RunState)
    assert {before for before, _ in TRANSITIONS} == set(RunState) - ENDED


def test_a_run_that_is_not_there_is_named(home):
    with pytest.raises(NotFound, match="no run 7"):
        home.runs.results(7, who="ada", why="curious")


def test_a_run_of_nothing_is_refused(home):
    with pytest.raises(Refused, match="activate a set"):
        opened(home, tasks=0)


def left_of(task: str, size: int = 1000) -> UnjudgedResult:
    facts = AttemptFacts(Stage.FROZEN, ended="answered", world=box.ExitFacts(running=True))
    return UnjudgedResult(
        task, FrozenState(random.Random(task).randbytes(size)), facts, Transcript((), None, "answered")
    )


def test_the_judged_state_of_a_result_stays_and_nothing_else_does(home):
    number, tasks = opened(home, tasks=3), [f"t-{letter * 16}" for letter in "abc"]
    home.runs.start(number)
    for task, judged_by in zip(tasks, ("somebody", "", "somebody"), strict=True):
        home.runs.seal(number, 1, left_of(task))
        home.runs.record(number, 1, a_run(task, judged_by=judged_by))
    assert home.runs.left(number) == {tasks[0], tasks[2]}
    assert home.runs.result(number, tasks[0], who="ada", why="check").judged_by == "somebody"
    home.runs.finish(number, 1)
    home.runs.drop_left(number, but=[tasks[2]])
    assert home.runs.left(number) == {tasks[2]}
    home.runs.drop_left(number)
    assert not home.runs.left(number)


def test_a_run_keeps_as_many_large_states_as_fit(home, monkeypatch):
    monkeypatch.setattr("sandbox.runs.store.KEPT", 50_000)
    number, tasks = opened(home, tasks=3), [f"t-{letter * 16}" for letter in "abc"]
    home.runs.start(number)
    for task, size in zip(tasks, (30_000, 30_000, 10_000), strict=True):
        home.runs.seal(number, 1, left_of(task, size))
        home.runs.record(number, 1, a_run(task, judged_by="somebody"))
    assert home.runs.left(number) == {tasks[0], tasks[2]}


def test_who_played_each_attempt_is_sealed_with_a_result_and_shown_to_nobody(home):
    number, task = opened(home, tasks=1), "t-" + "a" * 16
    home.runs.start(number)
    first = a_run(task, played_by="north")
    home.runs.seal(number, 1, replace(left_of(task), played_by="south", earlier=(first,)))
    left = home.runs.open_left(number, task, who="ada", why="check")
    assert (left.played_by, left.earlier[0].played_by) == ("south", "north")
    counted = a_run(task, played_by="south", earlier=(first,))
    home.runs.record(number, 1, counted)
    assert home.runs.players(number, who="ada", why="check") == {task: ("north", "south")}
    assert "north" not in str(counted.as_json())
    assert "south" not in str(counted.as_json())
