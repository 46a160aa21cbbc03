"""Tests of the turn, with a real vault, ledger and database; only the worlds are left out."""

import json
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from rotation.errors import NotAllowed, Refused
from rotation.month.sets import Stratum
from rotation.month.store import Unsettled
from rotation.turn import draw_seeds
from rotation.turn.release_steps import ReleaseSteps
from rotation.turn.turn_facts import STEPS
from sandbox.errors import Refused as NotSubmittable
from sandbox.runs.store import RunState
from sandbox.servers.definition import server_digest
from vault.ledger import browser
from vault.ledger.audit.verify import audit
from vault.ledger.statements.leaf import Statement
from vault.task.lifecycle import TaskState
from verifiers.language.verdict import Verdict

from ..conftest import BEFORE, FIRST, SMALL, Benchmark, Killed, OwnHome, begun, document, killed, outcome

pytestmark = pytest.mark.slow


def _played_once(home: Benchmark) -> None:
    begun(home)
    home.play("careful", 0.5)


@pytest.fixture
def played_home(own_home: OwnHome) -> Benchmark:
    """Return a home in its first month, in which one run was played."""
    return own_home(_played_once)[0]


def leaves(home: Benchmark) -> list[Statement]:
    return [Statement.parse(home.ledger.leaf(i)) for i in range(home.ledger.size)]


def kinds(home: Benchmark) -> Counter[str]:
    return Counter(statement.kind for statement in leaves(home))


def test_the_first_turn_fills_four_cohorts_of_equal_mix(begun_home):
    cohorts = begun_home.months.cohorts("live")
    assert [str(c.retires) for c in cohorts] == ["2026-12", "2027-01", "2027-02", "2027-03"]
    for cohort in cohorts:
        mix = Counter(Stratum.of(begun_home.vault.record(task_id)) for task_id in cohort.tasks)
        assert mix == Counter(SMALL.per_cohort)


def test_nothing_is_live_before_its_commitment_is_under_a_published_checkpoint(begun_home):
    head = begun_home.ledger.published
    for task in begun_home.vault.records(TaskState.LIVE):
        index = begun_home.ledger.index_of(f"commit/{task.id}")
        assert index < head.size
        assert leaves(begun_home)[index].digest == task.commitment.hex()


def test_a_turn_retires_the_promised_cohort_in_the_promised_order(begun_home):
    promised = begun_home.months.cohorts("live")[0]
    gone = {begun_home.vault.record(task_id).skeleton_tag for task_id in promised.tasks}
    begun_home.rotation.run(FIRST)
    retire = next(s for s in leaves(begun_home) if s.kind == "retire")
    assert [task["id"] for task in retire.predicate["tasks"]] == list(promised.tasks)
    assert begun_home.months.seen() == gone, "none of its skeletons enters again"
    states = Counter(record.state for record in begun_home.vault.records())
    assert states == {TaskState.LIVE: SMALL.size, TaskState.PUBLISHED: SMALL.cohort_size}


def test_the_publication_satisfies_an_auditor_who_trusts_nobody(played_home):
    played_home.play("null", 0)
    played_home.rotation.run(FIRST)
    report = audit(played_home.audited(FIRST), [played_home.vkey])
    assert report.pending  # the other cohorts are not open yet, so no month's full score can be recomputed


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
def test_a_turn_killed_at_any_step_is_finished_once(played_home, monkeypatch, step, when):
    real = played_home.rotation._steps[step]

    def at_step(turn):
        if when == "after":
            real(turn)
        raise Killed

    monkeypatch.setitem(played_home.rotation._steps, step, at_step)
    with pytest.raises(Killed):
        played_home.rotation.run(FIRST)
    played_home.reopen()
    if not played_home.months.turn(FIRST).finished:
        played_home.rotation.run(FIRST)
    assert played_home.months.turn(FIRST).done == STEPS
    assert kinds(played_home)["retire"] == 1
    assert kinds(played_home)["set"] == 2
    assert kinds(played_home)["commit"] == SMALL.size + SMALL.cohort_size
    assert played_home.log.fsck() == []
    played_home.audited(FIRST)
    assert len(list((played_home.public / "months" / str(FIRST)).iterdir())) == 3


@pytest.fixture
def collected(monkeypatch):
    calls, real = [], ReleaseSteps.content
    monkeypatch.setattr(ReleaseSteps, "content", lambda *args: calls.append(args) or real(*args))
    return calls


def test_what_a_turn_publishes_is_collected_once(begun_home, collected):
    begun_home.rotation.run(FIRST)
    assert len(collected) == 1
    begun_home.audited(FIRST)


def test_what_another_process_collected_is_collected_again(begun_home, collected, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(begun_home.rotation._steps, "publish", killed)
        with pytest.raises(Killed):
            begun_home.rotation.run(FIRST)
    begun_home.reopen()
    begun_home.rotation.run(FIRST)
    assert len(collected) == 2
    begun_home.audited(FIRST)


@pytest.mark.both_databases
@pytest.mark.parametrize("call", ["publish", "record", "write"])
def test_a_turn_killed_inside_a_step_is_finished_once(begun_home, monkeypatch, call):
    target = begun_home.log if call == "write" else begun_home.ledger
    name = "append" if call == "write" else call
    real = getattr(target, name)

    def after(*args, **kwargs):
        real(*args, **kwargs)
        raise Killed

    monkeypatch.setattr(target, name, after)
    with pytest.raises(Killed):
        begun_home.rotation.run(FIRST)
    begun_home.reopen()
    begun_home.rotation.run(FIRST)
    assert kinds(begun_home)["retire"] == 1
    begun_home.audited(FIRST)


def test_too_few_tasks_stop_a_turn_before_anything_happens(begun_home):
    begun_home.rotation.run(FIRST)
    size = begun_home.ledger.size
    with pytest.raises(Refused, match="lacks 1"):
        begun_home.rotation.run(FIRST.plus(1))
    assert begun_home.ledger.size == size
    assert begun_home.months.live_month() == FIRST.plus(1)


def test_a_set_of_another_size_is_refused_while_cohorts_of_this_one_are_live(begun_home):
    begun_home.spec = replace(SMALL, name="twice", per_cohort=dict.fromkeys(SMALL.per_cohort, 2))
    begun_home.stock(2)
    begun_home.reopen()
    size = begun_home.ledger.size
    with pytest.raises(Refused, match=r"cohort-2027-01 was promised with 3 tasks, .* 'twice' has 6: "):
        begun_home.rotation.run(FIRST)
    assert begun_home.ledger.size == size
    assert begun_home.months.live_month() == FIRST


def test_a_set_larger_by_one_task_is_not_refused(begun_home):
    more = Stratum("filesystem", "composition", "easy")
    begun_home.spec = replace(SMALL, per_cohort=dict(SMALL.per_cohort) | {more: 1})
    begun_home.add(document(900, more), "s-900")
    begun_home.reopen()
    begun_home.rotation.run(FIRST)
    assert [item["count"] for item in begun_home.leaf("set/2027-01").predicate["cohorts"]] == [3, 3, 3, 4]


def test_withdrawals_make_no_cohort_of_another_size(begun_home):
    """What counts is how many tasks a cohort was promised with."""
    tasks = begun_home.months.cohorts("live")[1].tasks[:2]
    begun_home.withdrawals.withdraw(tasks, "they leaked", cause="leak", who="ada")
    begun_home.stock(1)
    begun_home.rotation.run(FIRST)
    assert [item["count"] for item in begun_home.leaf("set/2027-01").predicate["cohorts"]] == [1, 3, 3, 3]


def test_turns_come_in_order_and_once(begun_home):
    with pytest.raises(NotAllowed, match="the next turn is 2026-12"):
        begun_home.rotation.run(FIRST.plus(3))
    begun_home.rotation.run(FIRST)
    with pytest.raises(NotAllowed, match="is done"):
        begun_home.rotation.run(FIRST)


def test_no_run_opens_before_the_first_turn_or_during_one(benchmark_home, monkeypatch):
    with pytest.raises(NotAllowed, match="no set is live"):
        benchmark_home.play("early", 1)
    benchmark_home.rotation.run(BEFORE)
    monkeypatch.setitem(benchmark_home.rotation._steps, "retire", killed)
    with pytest.raises(Killed):
        benchmark_home.rotation.run(FIRST)
    with pytest.raises(NotAllowed, match="under way"):
        benchmark_home.play("late", 1)


def test_a_run_that_opens_while_a_turn_begins_is_refused(begun_home, monkeypatch):
    months, real = begun_home.months, begun_home.months.live_month

    def month():
        found = real()
        months.begin_turn(FIRST, {"canary": "00000000-0000-4000-8000-000000000000"})
        return found

    monkeypatch.setattr(begun_home.months, "live_month", month)
    with pytest.raises(NotAllowed, match="under way"):
        begun_home.play("late", 1)
    assert kinds(begun_home)["run-open"] == 0
    assert not begun_home.runs.list()


def test_a_run_left_open_is_aborted_in_public(begun_home):
    run = begun_home.open()
    begun_home.run_tasks.record(run, outcome(run.tasks[0], "single-tool", passed=True))
    begun_home.rotation.run(FIRST)
    assert begun_home.runs.get(run.record.number).state is RunState.ABORTED
    assert kinds(begun_home)["abort"] == 1
    begun_home.audited(FIRST)


def test_the_reference_agent_opens_no_run(begun_home):
    with pytest.raises(NotSubmittable, match="cannot be submitted"):
        begun_home.open("oracle", "reference")
    assert kinds(begun_home)["run-open"] == 0


@pytest.mark.both_databases
def test_only_live_tasks_are_served(begun_home):
    run = begun_home.open()
    assert [task.id for task in begun_home.serve(run)] == list(run.tasks)
    begun_home.vault.advance(run.tasks[3], "withdraw")
    with pytest.raises(Refused, match=f"{run.tasks[3]} is withdrawn, not live"):
        begun_home.serve(run)


def test_a_run_takes_no_outcome_of_a_task_that_it_was_not_opened_for(begun_home):
    run = begun_home.open()
    spare = begun_home.vault.records(TaskState.REVIEWED)[0].id
    with pytest.raises(Refused, match="was not opened for"):
        begun_home.run_tasks.record(run, outcome(spare, "single-tool", passed=True))


def test_a_task_is_exposed_again_before_it_is_served_again_by_any_thread(begun_home):
    run = begun_home.open()
    begun_home.serve(run)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda task_id: begun_home.serve_again(run, task_id), run.tasks[:2]))
    exposures = begun_home.exposures.totals()
    assert {row[0]: row[3] for row in exposures} == dict.fromkeys(run.tasks, 1) | dict.fromkeys(run.tasks[:2], 2)


def test_two_runs_of_a_submitter_with_something_unsettled_open_a_review_and_take_nothing_away(begun_home):
    months, found = begun_home.months, []
    for name in ("shaky", "steady", "shaky"):

        def result(place, task, name=name):
            plain = begun_home.done(task)
            unclear = replace(plain, verdict=Verdict.FALSE, failure="unclear", code="gateway-lost")
            unknown = replace(plain, verdict=Verdict.UNKNOWN, failure="ours", code="engine-lost")
            given = {("shaky", 0): unclear, ("shaky", 1): unknown, ("steady", 0): unclear, ("steady", 1): unknown}
            return given.get((name, place), plain)

        run = begun_home.finish(begun_home.open(name), result)
        found.append(months.unsettled())
    first, second = run.record.number - 2, run.record.number
    assert found[:2] == [[], []], "one run is no reason, whatever happened in it"
    assert found[2] == [Unsettled("shaky", "unclear", (first, second)), Unsettled("shaky", "unknown", (first, second))]
    assert {record.state for record in begun_home.runs.list()} == {RunState.DONE}


@pytest.mark.both_databases
def test_a_second_run_of_a_submitter_is_their_second_attempt(played_home):
    played_home.play("careful", 1)
    played_home.rotation.run(FIRST)
    rows = (played_home.releases / FIRST.release / "runs.jsonl").read_text().splitlines()
    assert [json.loads(row)["opening"]["attempt"] for row in rows] == [1, 2]


def test_a_set_states_the_plan_and_the_definition_of_each_of_its_servers(begun_home):
    says = begun_home.leaf(f"set/{FIRST}").predicate
    assert says["plan"] == {"cohorts": len(says["cohorts"]), "lifetime": "P4M"}
    assert says["servers"] == {name: server_digest(name) for name in ("filesystem", "git", "sqlite")}
    assert "judge" not in says


def test_the_next_draw_is_committed_a_turn_ahead(begun_home):
    seed = draw_seeds.draw_seed(FIRST, begun_home.vault, who="ada")
    assert len(seed) == 32
    assert seed.hex() not in json.dumps([s.predicate for s in leaves(begun_home)])


@pytest.mark.full
def test_a_year_of_turns_audits_month_by_month(begun_home):
    for months in range(4):
        begun_home.stock(1)
        begun_home.play("careful", 0.5)
        month = FIRST.plus(months)
        begun_home.rotation.run(month)
        begun_home.audited(month)


def test_a_release_carries_the_page_of_the_version_that_began_its_turn(begun_home, monkeypatch):
    begun_home.rotation.run(FIRST)
    folder, page = begun_home.audited(FIRST), browser.page()
    assert (folder / "verify.html").read_bytes() == page
    shutil.rmtree(folder)
    monkeypatch.setattr(browser, "page", lambda: b"of a later version")
    assert begun_home.rotation.republish(FIRST)[0] == folder
    assert (folder / "verify.html").read_bytes() == page
    begun_home.audited(FIRST)
