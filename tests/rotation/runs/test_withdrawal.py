"""Tests of withdrawn tasks: what replaces them, what of them is opened, and a kill at any step."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rotation.errors import Malformed, NotAllowed
from rotation.findings.store import NewFinding, ScanRecord
from rotation.month.cohort import Candidate, allocate
from rotation.month.sets import SETS, Stratum
from rotation.runs import withdrawal
from vault.errors import NotAllowed as NotOpen
from vault.errors import NotFound, Unavailable
from vault.ledger.statements.results import figures
from vault.task.lifecycle import TaskState

from ...broken import EVIDENCE
from ..conftest import (
    BEFORE,
    FIRST,
    SMALL,
    Benchmark,
    Killed,
    NamedBox,
    OwnHome,
    begun,
    document,
    killed,
    submission,
    with_reserve,
)

pytestmark = pytest.mark.slow

WITH_RESERVE = with_reserve(2)


@pytest.fixture
def home(own_home: OwnHome) -> Benchmark:
    """Return a home whose first set is live, with one spare task of each stratum."""
    return own_home(begun, WITH_RESERVE)[0]


def members(home: Benchmark, place: int = 0) -> tuple[str, ...]:
    return home.months.cohorts("live")[place].tasks


def state(home: Benchmark, task: str) -> TaskState:
    return home.vault.record(task).state


def stratum(home: Benchmark, task: str) -> Stratum:
    return Stratum.of(home.vault.record(task))


def spare(home: Benchmark, task: str) -> str:
    """Return the one reserve task of a task's stratum."""
    (found,) = (r.id for r in home.vault.records(TaskState.REVIEWED) if stratum(home, r.id) == stratum(home, task))
    return found


def gone(
    home: Benchmark, *tasks: str, why: str = "it leaked", cause: withdrawal.Cause = "leak"
) -> list[withdrawal.Withdrawn]:
    evidence = dict.fromkeys(tasks, EVIDENCE) if cause == "broken" else {}
    home.withdrawals.withdraw(tasks, why, cause=cause, who="ada", evidence=evidence)
    return [one for one in home.withdrawals.listed() if one.task in tasks]


def broken_off(home: Benchmark, task: str, on_step: Any = killed) -> None:
    with pytest.raises(Killed):
        home.withdrawals.withdraw([task], "it leaked", cause="leak", who="ada", on_step=on_step)


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def turned(home: Benchmark, month: Any) -> Path:
    home.stock(1)
    home.rotation.run(month)
    return home.audited(month)


@pytest.mark.both_databases
def test_the_next_of_the_reserve_takes_the_place_in_the_promised_order(home):
    before = members(home)
    refill = spare(home, before[2])
    (one,) = gone(home, before[2])
    assert (one.cohort, one.replacement, one.reason, one.month) == ("cohort-2026-12", refill, "it leaked", FIRST)
    assert members(home) == (*before[:2], refill, *before[3:])
    assert (state(home, before[2]), state(home, refill)) == (TaskState.WITHDRAWN, TaskState.LIVE)
    assert home.ledger.published.size > one.leaf
    folder = turned(home, FIRST)
    assert [task["id"] for task in lines(folder, "tasks.jsonl")] == list(members_of(folder))
    assert [task["id"] for task in lines(folder, "withdrawn.jsonl")] == [before[2]]


def members_of(folder: Path) -> tuple[str, ...]:
    return tuple(line["id"] for line in lines(folder, "openings.jsonl")[: SMALL.cohort_size])


def test_without_a_reserve_the_cohort_is_smaller_and_still_a_quarter(home):
    first, second = members(home, 0), members(home, 1)
    kind = stratum(home, first[0])
    twin = next(task for task in second if stratum(home, task) == kind)
    early, late = gone(home, first[0], twin)
    assert early.replacement is not None
    assert late.replacement is None
    others = gone(home, *[task for task in second if task != twin][:2])
    assert all(one.replacement for one in others)
    assert len(members(home, 1)) == SMALL.cohort_size - 1
    turned(home, FIRST)
    folder = turned(home, FIRST.plus(1))
    assert {task["id"] for task in lines(folder, "withdrawn.jsonl")} == {twin, *(one.task for one in others)}


@pytest.mark.parametrize(("cause", "counted"), [("leak", 3), ("broken", 2)])
def test_a_leaked_task_counts_where_it_is_bound_and_a_broken_one_nowhere(home, cause, counted):
    """A refill counts in the runs that were opened after it, and in no other."""
    task = members(home)[0]
    refill = spare(home, task)
    early = home.open("early")
    home.finish(early)
    under_way = home.open("under-way")
    gone(home, task, cause=cause)
    late = home.open("late")
    assert task in under_way.tasks
    assert task not in late.tasks
    assert refill in late.tasks
    home.finish(under_way)
    home.finish(late)
    folder = turned(home, FIRST)
    runs = {run["submitter"]: run for run in json.loads((folder / "aggregate.json").read_text())["runs"]}
    assert {name: run["totals"]["attempted"] for name, run in runs.items()} == {
        "early": counted,
        "under-way": counted,
        "late": 3,
    }
    assert all(run["figures"] == figures(run["totals"]) for run in runs.values())
    assert {line["totals"]["attempted"] for line in lines(folder, "runs.jsonl")} == {3}, "what was bound stays bound"
    results = {(row["run"], row["result"]["task"]) for row in lines(folder, "results.jsonl")}
    assert (early.record.number, task) in results
    assert (folder / "broken.jsonl").exists() == (cause == "broken")


def test_a_release_shows_why_each_broken_task_is_broken_in_the_order_of_the_withdrawals(home):
    first, second, third = members(home)[:3]
    gone(home, third, cause="broken")
    gone(home, second)
    gone(home, first, cause="broken")
    assert [one.cause for one in home.withdrawals.listed()] == ["broken", "leak", "broken"]
    assert [one.task for one in home.withdrawals.uncounted()] == [third, first]
    folder = turned(home, FIRST)
    assert [task["id"] for task in lines(folder, "withdrawn.jsonl")] == [third, second, first]
    assert lines(folder, "broken.jsonl") == [{"task": task, **EVIDENCE} for task in (third, first)]
    assert "broken.jsonl" in json.loads((folder / "manifest.json").read_text())["files"]
    assert "broken.jsonl" in (folder / "README.md").read_text()


@pytest.mark.both_databases
def test_without_evidence_no_task_is_withdrawn_as_broken(home):
    task, other = members(home)[:2]
    size = home.ledger.size
    with pytest.raises(NotAllowed, match=f"nothing shows that task {other} is broken"):
        home.withdrawals.withdraw([task, other], "why", cause="broken", who="ada", evidence={task: EVIDENCE})
    assert (state(home, task), state(home, other), home.ledger.size) == (TaskState.LIVE, TaskState.LIVE, size)
    gone(home, task, cause="broken")
    assert home.withdrawals.uncounted()


@pytest.mark.both_databases
def test_a_run_that_is_taken_over_plays_what_it_was_opened_for(home):
    run = home.open()
    tasks = run.tasks
    home.run_tasks.serve(run, tasks[1])
    home.run_tasks.record(run, home.done(tasks[1]))
    gone(home, tasks[0], tasks[1])
    again = home.official.resume(run.record.number, submission("careful"), NamedBox())
    assert again.tasks == tasks
    assert tasks[0] in {planned.task.id for planned in home.run_tasks.prepare(again)}
    home.finish(again)
    turned(home, FIRST)


@pytest.mark.parametrize("finisher", ["a run", "a turn"])  # the verb: tests/quarterturn/month/test_withdraw_task.py
@pytest.mark.parametrize("step", withdrawal.STEPS[:2])
def test_killed_after_any_step_it_is_finished_once_by_the_next_process(home, step, finisher):
    task = members(home)[0]
    refill = spare(home, task)

    def after(done):
        if done == step:
            raise Killed

    broken_off(home, task, after)
    assert state(home, refill) is TaskState.REVIEWED
    home.reopen()
    if finisher == "a run":
        home.finish(home.open())
    turned(home, FIRST)
    assert state(home, refill) is TaskState.PUBLISHED
    (one,) = home.withdrawals.listed()
    assert (one.reason, one.replacement) == ("it leaked", refill)


def test_a_gap_that_nobody_published_is_opened_by_the_turn_that_comes_next(home):
    task = members(home)[0]
    gone(home, spare(home, task))

    broken_off(home, task)
    home.reopen()
    assert task in {line["id"] for line in lines(turned(home, FIRST), "withdrawn.jsonl")}


@pytest.mark.parametrize("call", ["advance", "record", "replace", "confirm"])
def test_killed_inside_the_first_step_nothing_has_happened(home, monkeypatch, call):
    task = members(home)[0]
    rooms = {"advance": home.vault, "record": home.ledger, "replace": home.months, "confirm": home.findings}
    target = rooms[call]
    real = getattr(target, call)

    def after(*args, **kwargs):
        real(*args, **kwargs)
        raise Killed

    before = members(home)
    with monkeypatch.context() as patch:
        patch.setattr(target, call, after)
        broken_off(home, task, None)
    assert (members(home), state(home, task), home.withdrawals.listed()) == (before, TaskState.LIVE, [])
    assert home.ledger.find(withdrawal.leaf_key(task)) is None


def test_nobody_is_served_a_refill_before_its_place_is_published(home, monkeypatch):
    task = members(home)[0]
    refill = spare(home, task)

    def gone_away():
        raise Unavailable("too few witnesses cosigned")

    with monkeypatch.context() as patch:
        patch.setattr(home.ledger, "publish", gone_away)
        with pytest.raises(Unavailable):
            gone(home, task)
        assert home.withdrawals.listed() == [], "what is not published is told nobody"
        assert state(home, refill) is TaskState.REVIEWED
        with pytest.raises(Unavailable):
            home.open()
    assert refill in {one.id for one in home.serve(home.open())}


@pytest.mark.both_databases
def test_two_withdrawals_at_once_take_two_places_of_the_reserve_in_turn(home):
    home.stock(1)
    kind = stratum(home, members(home)[0])
    twins = [next(task for task in members(home, place) if stratum(home, task) == kind) for place in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda task: home.withdrawals.withdraw([task], "leaked", cause="leak", who="ada"), twins))
    refills = [one.replacement for one in home.withdrawals.listed()]
    assert len({one for one in refills if one}) == 1, "the reserve was promised with the set, and held one"
    assert refills[1:] == [None] * 3
    turned(home, FIRST)


def test_a_task_withdrawn_while_a_run_is_being_opened_is_not_served(home, monkeypatch):
    task, real = members(home)[0], home.ledger.publish

    def meanwhile():
        head = real()
        monkeypatch.undo()
        home.withdrawals.withdraw([task], "it leaked", cause="leak", who="ada", on_step=lambda _: None)
        return head

    monkeypatch.setattr(home.ledger, "publish", meanwhile)
    run = home.open()
    assert task not in run.tasks
    assert len(run.tasks) == run.record.tasks == SMALL.size
    home.finish(run)
    turned(home, FIRST)


def test_during_a_turn_nothing_is_withdrawn(home, monkeypatch):
    task = members(home, 1)[0]

    home.stock(1)
    with monkeypatch.context() as patch:
        patch.setitem(home.rotation._steps, "publish", killed)
        with pytest.raises(Killed):
            home.rotation.run(FIRST)
    with pytest.raises(NotAllowed, match="the turn of 2026-12 is under way"):
        gone(home, task)
    home.rotation.run(FIRST)
    gone(home, task)
    home.audited(FIRST)


def test_a_withdrawn_reserve_task_leaves_and_the_next_one_moves_up(home):
    task = members(home)[0]
    first = spare(home, task)
    (one,) = gone(home, first)
    assert (one.cohort, one.replacement) == (None, None)
    assert home.vault.record(first).skeleton_tag in home.months.seen()
    (other,) = gone(home, task)
    assert other.replacement is None, "whoever left the reserve takes no place"
    folder = turned(home, FIRST)
    assert [line["id"] for line in lines(folder, "withdrawn.jsonl")] == [first, task]
    assert "withdrawn.jsonl" not in json.loads((turned(home, FIRST.plus(1)) / "manifest.json").read_text())["files"]


def test_of_several_withdrawn_at_once_none_takes_anothers_place(home):
    task = members(home)[0]
    found = gone(home, task, spare(home, task))
    assert [one.cohort for one in found] == [None, "cohort-2026-12"]
    assert [one.replacement for one in found] == [None, None]


def test_a_refill_may_be_withdrawn_too(home):
    task = members(home)[0]
    (one,) = gone(home, task)
    assert one.replacement is not None
    (two,) = gone(home, one.replacement)
    assert (two.cohort, two.replacement) == ("cohort-2026-12", None)
    folder = turned(home, FIRST)
    assert [line["id"] for line in lines(folder, "withdrawn.jsonl")] == [task, one.replacement]


def test_an_unpromised_task_leaves_without_a_leaf(home):
    home.stock(1)
    never = home.vault.records(TaskState.REVIEWED)[-1].id
    size = home.ledger.size
    assert gone(home, never) == []
    assert (state(home, never), home.ledger.size) == (TaskState.WITHDRAWN, size)


def test_before_the_first_turn_there_is_nothing_to_tell(benchmark_home):
    task = benchmark_home.vault.records(TaskState.REVIEWED)[0].id
    assert gone(benchmark_home, task) == []
    assert state(benchmark_home, task) is TaskState.WITHDRAWN
    assert benchmark_home.ledger.size == 0


def test_a_task_that_cannot_be_withdrawn_is_named_and_nothing_is_done(home):
    good, size = members(home)[0], home.ledger.size
    home.stock(1)
    published = members(home)[1]
    with pytest.raises(NotFound, match="no task t-nosuch"):
        gone(home, good, "t-nosuch")
    for reason in ("", "  ", "x" * 201, "two\nlines"):
        with pytest.raises(Malformed, match="a reason has"):
            gone(home, good, why=reason)
    assert (state(home, good), home.ledger.size) == (TaskState.LIVE, size)
    home.rotation.run(FIRST)
    with pytest.raises(NotOpen, match="'withdraw' is not open to a task that is published"):
        gone(home, published)


def test_withdrawing_again_changes_nothing(home):
    task = members(home)[0]
    gone(home, task)
    size = home.ledger.size
    assert [one.reason for one in gone(home, task, why="another reason")] == ["it leaked"]
    assert home.ledger.size == size


def test_the_finding_that_proposed_it_is_closed_with_it(home):
    task, other = members(home)[:2]
    found = [NewFinding("exposure", name, FIRST, detail="served too often") for name in (task, other)]
    home.findings.keep([ScanRecord(FIRST, home.clock(), 1, 1, None)], found)
    (one,) = gone(home, task)
    closed, left = sorted(home.findings.all(), key=lambda found: found.subject != task)
    assert (closed.state, closed.reviews[-1].who) == ("confirmed", "ada")
    assert closed.reviews[-1].note == f"withdrawn at leaf {one.leaf}"
    assert left.state == "open"


def test_a_scan_still_reads_what_was_withdrawn(home):
    task = members(home, 3)[0]
    home.finish(home.open())
    turned(home, FIRST)
    (one,) = gone(home, task)
    home.finish(home.open())
    assert one.replacement is not None
    entered = home.withdrawals.entered()
    assert (entered[task], entered[one.replacement]) == (FIRST, FIRST.plus(1))
    assert {task, one.replacement} < set(home.sealed_results.table("test", home.sealed_results.runs()).tasks)


def test_no_two_of_a_reserve_share_a_skeleton_whatever_their_stratum():
    strata = sorted(SMALL.per_cohort)[:2]
    spec = replace(WITH_RESERVE, per_cohort=dict.fromkeys(strata, 1))
    pool = [
        Candidate(f"t-{place}", stratum, f"s-{n}", bytes([n, place]))
        for n in range(9)
        for place, stratum in enumerate(strata)
    ]
    reserve = allocate(pool, spec, ["one"]).reserve
    chosen = [candidate.skeleton for rest in reserve.values() for candidate in rest]
    assert len(set(chosen)) == len(chosen) == 4


def test_a_committed_task_whose_skeleton_is_now_shared_leaves_the_reserve(home):
    home.stock(1)
    made = []
    for number, stratum in enumerate(sorted(SMALL.per_cohort)[:2] * 4):  # of these one each enters
        made.append(home.add(document(1000 + number, stratum), f"shared-{number // 2}"))
    with home.months.transaction() as session:
        for task_id in made:
            home.promises.record_commit(session, task_id)
    home.rotation.run(FIRST)
    promised = home.leaf("set/2027-01").predicate["reserve"]
    tags = {record.commitment.hex(): record.skeleton_tag for record in home.vault.records(TaskState.REVIEWED)}
    found = [tags[item] for order in promised.values() for item in order]
    assert len(set(found)) == len(found) > 0
    assert not set(found) & {*home.months.taken(), *home.months.seen()}


@pytest.mark.parametrize("name", ["demo", pytest.param("mcpbench", marks=pytest.mark.full)])
def test_the_reserve_of_a_shipped_set_fills_the_place_of_a_withdrawn_task(tmp_path, name):
    spec = SETS[name]
    home = Benchmark(tmp_path, f"sqlite:///{tmp_path / 'quarterturn.db'}", spec)
    kinds = [s for s, count in spec.per_cohort.items() for _ in range(spec.cohorts * count + spec.reserve.get(s, 0))]
    for number, kind in enumerate(kinds):
        home.add(document(number, kind), f"s-{number}")
    home.rotation.run(BEFORE)
    assert {state(home, r.id) for r in home.vault.records()} == {TaskState.LIVE, TaskState.REVIEWED}
    task = next(task for task in members(home) if stratum(home, task) in spec.reserve)
    expected, place = spare(home, task), members(home).index(task)
    gone(home, task)
    assert members(home)[place] == expected
    home.engine.dispose()
