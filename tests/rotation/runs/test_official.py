"""Tests of official runs that a turn or a withdrawal interrupts: what is served, and what never again."""

import hashlib
import json
from collections import Counter
from dataclasses import replace

import pytest

from rotation.errors import NotAllowed, Refused
from rotation.month.sets import Stratum
from rotation.month.store import Unsettled
from rotation.runs.run_tasks import OpenRun
from sandbox.results.bound_transcript import transcript_bytes
from sandbox.results.failure import RETRIES, AttemptFacts, Stage
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.store import RunState
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from vault.commitment import opens
from vault.database import transaction
from vault.store.public_log import PublicLog
from vault.task.lifecycle import TaskState
from verifiers.language.verdict import Verdict

from ..conftest import BEFORE, FIRST, Benchmark, Killed, NamedBox, OwnHome, killed, played, submission, with_reserve

pytestmark = pytest.mark.slow

LEFT = AttemptFacts(Stage.FROZEN, ended="answered", upstream="down")


def _with_spares(home: Benchmark) -> None:
    home.stock(6)
    home.rotation.run(BEFORE)


@pytest.fixture
def home(own_home: OwnHome) -> Benchmark:
    """Return a home whose first set is live, with two spare tasks of each stratum in the reserve."""
    return own_home(_with_spares, with_reserve(2))[0]


def only(run: OpenRun, task: str) -> OpenRun:
    """Return the run as if it had been opened for this task alone."""
    return replace(run, cohorts=(replace(run.cohorts[0], tasks=(task,)),))


def test_a_run_that_is_being_opened_while_a_whole_turn_passes_is_refused(home, monkeypatch):
    home.stock(1)
    real = home.months.live_month

    def month():
        found = real()
        monkeypatch.undo()
        home.rotation.run(FIRST)
        return found

    monkeypatch.setattr(home.months, "live_month", month)
    with pytest.raises(NotAllowed, match="the month turned from 2026-12"):
        home.open()
    assert not home.runs.list()


def test_a_reviewed_task_is_not_served_though_its_commitment_is_published(home):
    spare = home.vault.records(TaskState.REVIEWED)[0].id
    with pytest.raises(Refused, match=f"{spare} is reviewed, not live"):
        home.serve(only(home.open(), spare))


def test_a_task_is_served_once_the_head_covers_its_commitment(home, monkeypatch):
    run = home.open()
    task, head = run.tasks[0], home.ledger.published
    commit = home.ledger.index_of(f"commit/{task}")
    monkeypatch.setattr(PublicLog, "published", replace(head, size=commit))
    with pytest.raises(Refused, match="not published yet"):
        home.serve(only(run, task))
    monkeypatch.setattr(PublicLog, "published", replace(head, size=commit + 1))
    assert [served.id for served in home.serve(only(run, task))] == [task]


def test_a_run_names_the_head_over_all_that_was_recorded_before_it(home):
    home.stock(1)
    with transaction(home.engine) as session:
        home.promises.record_commit(session, home.vault.records(TaskState.REVIEWED)[-1].id)
    key = f"run-open/{home.open().record.number}"
    assert home.leaf(key).predicate["checkpoint"]["size"] == home.ledger.index_of(key)


def test_a_turn_killed_before_its_set_was_published_publishes_it_before_it_signs(home, monkeypatch):
    home.stock(1)
    real = home.ledger.publish

    def before_the_set():
        if "set" in home.months.turn(FIRST).done:
            raise Killed
        return real()

    monkeypatch.setattr(home.ledger, "publish", before_the_set)
    with pytest.raises(Killed):
        home.rotation.run(FIRST)
    home.reopen()
    assert home.rotation.run(FIRST).finished
    home.audited(FIRST)


def test_the_first_promised_task_of_the_reserve_takes_the_place(home):
    task = home.months.cohorts("live")[0].tasks[0]
    promised = home.leaf(f"set/{FIRST}").predicate["reserve"]
    home.withdrawals.withdraw([task], "it leaked", cause="leak", who="ada")
    (gone,) = home.withdrawals.listed()
    refill = home.vault.record(gone.replacement or "")
    assert refill.commitment.hex() == promised[str(Stratum.of(refill))][0]
    assert len(promised[str(Stratum.of(refill))]) == 2


def test_a_refill_that_is_recorded_right_behind_the_head_waits_for_the_next(home, monkeypatch):
    first, second = home.months.cohorts("live")[0].tasks[:2]

    def only_recorded(task):
        with pytest.raises(Killed):
            home.withdrawals.withdraw([task], "it leaked", cause="leak", who="ada", on_step=killed)
        return next(one.replacement or "" for one in home.withdrawals.recorded() if one.task == task)

    refills, real = [only_recorded(first)], home.ledger.publish

    def publish():
        head = real()
        monkeypatch.undo()
        refills.append(only_recorded(second))
        return head

    monkeypatch.setattr(home.ledger, "publish", publish)
    home.withdrawals.settle()
    assert [home.vault.record(refill).state for refill in refills] == [TaskState.LIVE, TaskState.REVIEWED]
    home.withdrawals.settle()
    assert home.vault.record(refills[1]).state is TaskState.LIVE


# -- what is served, and what is not served again ---------------------------------------------------------------------


def verdicts(home: Benchmark, number: int) -> dict[str, str]:
    """Return the verdict and the code of each task of a run."""
    results = home.runs.results(number, who="test", why="test")
    return {one.task_id: f"{one.verdict.value} {one.code}" for one in results}


def test_nothing_is_served_twice_but_for_a_cause_that_was_written_down(home):
    run = home.open()
    first, second, *_ = run.tasks
    home.run_tasks.serve(run, first, second)
    with pytest.raises(NotAllowed, match=r"already served task t-\w+"):
        home.run_tasks.serve(run, first)
    assert home.run_tasks.again(run, first, "engine-lost")
    home.run_tasks.serve(run, first)
    with pytest.raises(NotAllowed):
        home.run_tasks.serve(run, first)
    assert {task: one.times for task, one in home.exposures.of_run(1).items()} == {first: 2, second: 1}


def test_all_attempts_at_a_run_have_its_retries_together(home):
    run = home.open()
    tasks = run.tasks
    home.run_tasks.serve(run, *tasks[:3])
    assert [home.run_tasks.again(run, task, "engine-lost") for task in tasks[:3]] == [True] * 3
    again = home.official.resume(1, submission("careful"), NamedBox())
    home.run_tasks.serve(again, *tasks)
    assert RETRIES == 4
    assert [home.run_tasks.again(again, task, "engine-lost") for task in tasks[:3]] == [True, False, False]


def test_a_task_in_play_when_its_worker_died_is_a_fail_and_counted_for_a_review(home):
    run = home.open()
    lost, done, *_ = run.tasks
    home.run_tasks.serve(run, lost, done)
    home.run_tasks.record(run, home.done(done))
    again = home.official.resume(1, submission("careful"), NamedBox())
    assert lost not in again.left
    assert verdicts(home, 1) == {lost: "false worker-lost", done: "true finished"}
    home.finish(again)
    other = home.open()
    home.run_tasks.serve(other, other.tasks[0])
    home.official.resume(2, submission("careful"), NamedBox())
    assert home.months.unsettled() == [Unsettled("careful", "unclear", (1, 2))]


@pytest.mark.parametrize(
    ("code", "unserved", "playing"),
    [
        ("worker-stopped", "unknown worker-stopped", "unknown worker-stopped"),
        ("machine", "unknown machine", "unknown machine"),
        ("mistake", "false turn", "false worker-lost"),
    ],
)
def test_the_unfinished_tasks_of_a_run_when_the_month_turns(home, code, unserved, playing):
    run = home.open()
    done, open_, *rest = run.tasks
    home.run_tasks.serve(run, done, open_)
    home.run_tasks.record(run, home.done(done))
    home.run_tasks.stop(run, code)
    home.stock(1)
    home.rotation.run(FIRST)
    assert verdicts(home, 1) == {done: "true finished", open_: playing} | dict.fromkeys(rest, unserved)
    assert home.runs.get(1).state is RunState.DONE
    home.audited(FIRST)


def test_a_cause_is_forgotten_once_the_run_is_played_on(home):
    run = home.open()
    home.run_tasks.serve(run, run.tasks[0])
    home.run_tasks.stop(run, "machine")
    again = home.official.resume(1, submission("careful"), NamedBox())
    assert run.tasks[0] in again.left
    assert home.official.end(1, "turn").state is RunState.DONE
    assert set(verdicts(home, 1).values()) == {"false turn"}


def test_a_run_that_was_served_nothing_is_aborted(home):
    home.open()
    assert home.official.end(1, "cancelled").state is RunState.ABORTED
    assert home.leaf("abort/1").predicate["reason"] == "cancelled"


def test_the_state_of_an_earlier_serving_is_not_judged_in_place_of_the_next_one(home):
    """Otherwise a worker's death would take back the serving that was in play."""
    run = home.open()
    task = run.tasks[0]
    home.run_tasks.serve(run, task)
    home.run_tasks.seal(run, UnjudgedResult(task, FrozenState(b""), LEFT, Transcript((), None, "answered")))
    assert home.run_tasks.again(run, task, "engine-lost")
    home.run_tasks.serve(run, task)
    again = home.official.resume(1, submission("careful"), NamedBox())
    assert (again.sealed, verdicts(home, 1)) == (frozenset(), {task: "false worker-lost"})


def test_a_run_that_is_served_something_while_it_is_being_aborted_is_closed(home, monkeypatch):
    run, real = home.open(), home.exposures.of_run

    def of_run(number, session=None):
        found = real(number, session)
        if session is None:
            monkeypatch.undo()
            home.run_tasks.serve(run, run.tasks[0])
        return found

    monkeypatch.setattr(home.exposures, "of_run", of_run)
    assert home.official.end(1, "turn").state is RunState.DONE
    assert Counter(verdicts(home, 1).values()) == {"false worker-lost": 1, "false turn": len(run.tasks) - 1}


def test_an_end_that_was_killed_is_made_again(home, monkeypatch):
    run = home.open()
    home.run_tasks.serve(run, run.tasks[0])
    home.run_tasks.stop(run, "machine")
    with monkeypatch.context() as broken:
        broken.setattr(home.official, "close", killed)
        with pytest.raises(Killed):
            home.official.end(1, "turn")
    home.reopen()
    assert home.official.end_open(FIRST, "turn") == [1]
    assert set(verdicts(home, 1).values()) == {"unknown machine"}


def test_each_result_binds_its_transcript_and_none_where_nothing_was_left(home):
    """A worker dies on one task; another judges one that was left sealed; one verdict is unknown."""
    run = home.open()
    lost, done, unknown, *_ = run.tasks
    served = {planned.task.id: planned.task for planned in home.run_tasks.prepare(run)}
    home.run_tasks.serve(run, lost, done)
    home.run_tasks.record(run, played(served[done], home.done(done)))
    again = home.official.resume(1, submission("careful"), NamedBox())
    open_verdict = replace(home.done(unknown), verdict=Verdict.UNKNOWN, failure="ours")
    home.finish(again, lambda _, task: open_verdict if task == unknown else home.done(task))
    sealed = {item["result"]["task"]: item for item in home.run_ledger.closing(1, "test")["results"]}
    assert sealed.keys() == set(run.tasks)
    assert {task for task, item in sealed.items() if item["result"]["transcript"] is None} == {lost}
    assert sealed[lost]["transcript_salt"] is None
    for task in (done, unknown):
        data = transcript_bytes(home.runs.result(run.record.number, task, who="ada", why="test"))
        salt, bound = (
            bytes.fromhex(part) for part in (sealed[task]["transcript_salt"], sealed[task]["result"]["transcript"])
        )
        assert json.loads(data)["served"] == hashlib.sha256(served[task].canonical()).hexdigest()
        assert opens("transcript", data, salt, bound)
    assert len({item["transcript_salt"] for item in sealed.values()}) == len(run.tasks)
