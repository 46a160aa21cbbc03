"""What comes between two steps of an official run, a turn or a withdrawal: nothing is served ahead of its head."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rotation import promise, withdrawal
from rotation.errors import NotAllowed, Refused
from rotation.official import OpenRun
from rotation.sets import DEMO, Stratum
from vault.db import transaction
from vault.ledger_store import Ledger
from vault.lifecycle import State

from .conftest import BEFORE, FIRST, Benchmark, Killed, killed

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, migrated: str) -> Iterator[Benchmark]:
    """A home whose first set is live, with two spare tasks of each stratum in the reserve."""
    made = Benchmark(tmp_path, migrated, replace(DEMO, reserve=2))
    made.stock(6)
    made.rotation.run(BEFORE)
    yield made
    made.books.engine.dispose()


def only(run: OpenRun, task: str) -> OpenRun:
    """The run, as if it had been opened for this task alone."""
    return replace(run, cohorts=(replace(run.cohorts[0], tasks=(task,)),))


def test_a_run_that_is_being_opened_while_a_whole_turn_passes_is_refused(home, monkeypatch):
    home.stock(1)
    real = home.official.month

    def month():
        found = real()
        monkeypatch.undo()
        home.rotation.run(FIRST)
        return found

    monkeypatch.setattr(home.official, "month", month)
    with pytest.raises(NotAllowed, match="the month turned from 2026-12"):
        home.open()
    assert not home.books.runs.list()


def test_a_reviewed_task_is_not_served_though_its_commitment_is_published(home):
    spare = home.books.vault.records(State.REVIEWED)[0].id
    with pytest.raises(Refused, match=f"{spare} is reviewed, not live"):
        home.official.serve(only(home.open(), spare))


def test_a_task_is_served_once_the_head_covers_its_commitment(home, monkeypatch):
    run = home.open()
    task, head = run.tasks[0], home.books.ledger.published
    commit = home.books.leaf_index(f"commit/{task}")
    monkeypatch.setattr(Ledger, "published", replace(head, size=commit))
    with pytest.raises(Refused, match="not published yet"):
        home.official.serve(only(run, task))
    monkeypatch.setattr(Ledger, "published", replace(head, size=commit + 1))
    assert [served.id for served in home.official.serve(only(run, task))] == [task]


def test_a_run_names_the_head_over_all_that_was_recorded_before_it(home):
    home.stock(1)
    with transaction(home.books.engine) as session:
        promise.record_commit(session, home.books, home.books.vault.records(State.REVIEWED)[-1].id)
    key = f"run-open/{home.open().record.number}"
    assert home.leaf(key).predicate["checkpoint"]["size"] == home.books.leaf_index(key)


def test_a_turn_killed_before_its_set_was_published_publishes_it_before_it_signs(home, monkeypatch):
    home.stock(1)
    real = home.books.ledger.publish

    def before_the_set():
        if "set" in home.books.months.turn(FIRST).done:
            raise Killed
        return real()

    monkeypatch.setattr(home.books.ledger, "publish", before_the_set)
    with pytest.raises(Killed):
        home.rotation.run(FIRST)
    home.reopen()
    assert home.rotation.run(FIRST).finished
    home.audited(FIRST)


def test_of_several_in_the_reserve_the_first_that_was_promised_takes_the_place(home):
    task = home.books.months.cohorts("live")[0].tasks[0]
    promised = home.leaf(f"set/{FIRST}").predicate["reserve"]
    withdrawal.withdraw(home.books, [task], "it leaked", who="ada")
    (gone,) = withdrawal.listed(home.books)
    refill = home.books.vault.record(gone.replacement or "")
    assert refill.commitment.hex() == promised[str(Stratum.of(refill))][0]
    assert len(promised[str(Stratum.of(refill))]) == 2


def test_a_refill_that_is_recorded_right_behind_the_head_waits_for_the_next(home, monkeypatch):
    first, second = home.books.months.cohorts("live")[0].tasks[:2]

    def only_recorded(task):
        with pytest.raises(Killed):
            withdrawal.withdraw(home.books, [task], "it leaked", who="ada", on_step=killed)
        return next(one.replacement or "" for one in withdrawal.recorded(home.books) if one.task == task)

    refills, real = [only_recorded(first)], home.books.ledger.publish

    def publish():
        head = real()
        monkeypatch.undo()
        refills.append(only_recorded(second))
        return head

    monkeypatch.setattr(home.books.ledger, "publish", publish)
    withdrawal.settle(home.books)
    assert [home.books.vault.record(refill).state for refill in refills] == [State.LIVE, State.REVIEWED]
    withdrawal.settle(home.books)
    assert home.books.vault.record(refills[1]).state is State.LIVE
