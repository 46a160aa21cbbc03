"""Tests of the way of a result: closed, disclosed, published; also where somebody else finishes what was begun."""

import json

import pytest
from sqlalchemy import text

from quarterturn import public_view
from quarterturn.cli.setup import home_checks
from rotation.calendar import Month
from vault.errors import Unavailable

from ...broken import EVIDENCE
from ...serving import serve as serve_tasks
from ..invented_runs import open_run, record_all, submitted
from .conftest import outcome, play

pytestmark = pytest.mark.slow

FIRST, SECOND = Month.parse("2026-12"), Month.parse("2027-01")


def opened(house, passes):
    run = open_run(house, "ada", "agent")
    return record_all(house, run, lambda place, task: outcome(task, passed=place < passes))


def test_the_trace_of_a_run_that_the_turn_closed_is_there(site):
    ada, house = site.account("ada"), site.house
    made, claim = submitted(house, "ada")
    run = open_run(house, "ada", "agent")
    assert house.submissions.queue.opened(claim, run.record.number)
    for task in serve_tasks(house.runs.tasks, run)[:20]:
        house.runs.tasks.record(run, outcome(task, passed=True))
    house.month.turns.make(FIRST, lambda _: None, early=True)
    house.submissions.queue.finish(claim, None)
    assert site.get(f"/runs/{made.id}", ada).status_code == 200


@pytest.mark.full
def test_a_published_trace_grows_only_when_its_owner_publishes_again(turned, stock):
    house, ada = turned.house, turned.account("ada")
    stock(house, 4, first=100)
    made, _ = submitted(house, "ada", 1)
    first = turned.ask("PUT", f"/runs/{made.id}/publication", ada).json()["trace"]["tasks"]
    house.month.turns.make(SECOND, lambda _: None, early=True)
    assert turned.get(f"/runs/{made.id}").json()["trace"]["tasks"] == first
    later = turned.ask("PUT", f"/runs/{made.id}/publication", ada).json()["trace"]["tasks"]
    assert len(later) > len(first)
    assert turned.get(f"/runs/{made.id}").json()["trace"]["tasks"] == later


def test_a_withdrawal_that_another_run_completes_leaves_the_figures_of_all_months(turned, monkeypatch, stock):
    house = turned.house
    stock(house, 4, first=100)
    house.month.turns.make(SECOND, lambda _: None, early=True)
    task = house.benchmark.months.cohorts("live")[0].tasks[0]
    with monkeypatch.context() as patch:
        patch.setattr(type(house.log.ledger), "publish", lambda _: (_ for _ in ()).throw(Unavailable("no witness")))
        with pytest.raises(Unavailable):
            house.benchmark.withdrawals.withdraw(
                [task], "it is broken", cause="broken", who="grace", evidence={task: EVIDENCE}
            )
    (before,) = house.runs.leaderboard.of_month(FIRST)
    house.runs.official.close(opened(house, 10))
    house.month.after_results("test")
    (after,) = house.runs.leaderboard.of_month(FIRST)
    assert after.whole.attempted == before.whole.attempted - 1
    assert house.submissions.view.behind() == []


def test_one_closing_that_cannot_be_opened_keeps_nothing_else_from_being_written(site, caplog):
    house = site.house
    site.account("ada")
    number = play(house, 12, "ada")
    with house.benchmark.months.transaction() as session:
        session.connection().execute(text("DELETE FROM vault_blob WHERE name = :name"), {"name": f"closing/{number}"})
    (house.home.places.view / "rotations.json").unlink()
    task = house.benchmark.months.cohorts("live")[0].tasks[0]
    house.benchmark.withdrawals.withdraw([task], "it is broken", cause="broken", who="grace", evidence={task: EVIDENCE})
    house.submissions.view.update()
    assert (house.home.places.view / "rotations.json").exists()
    assert "the figures of 2026-12 cannot be brought up to date: NotFound" in caplog.text


def test_of_two_writers_the_later_one_writes_what_both_know(site, monkeypatch):
    house, real, meanwhile = site.house, public_view._write, []
    site.account("ada"), site.account("bob")
    play(house, 12, "ada")

    def write(path, make):
        if path.parent.name == "board" and not meanwhile:
            meanwhile.append(True)
            play(house, 10, "bob")
        real(path, make)

    monkeypatch.setattr(public_view, "_write", write)
    house.submissions.view.update()
    assert len(json.loads((house.home.places.view / "board/2026-12.json").read_bytes())["lines"]) == 2
    assert house.submissions.view.behind() == []


def test_of_two_runs_at_once_the_one_that_ends_last_is_held_against_the_other(site):
    house = site.house
    site.account("ada")
    first, second = opened(house, 12), opened(house, 13)
    house.runs.official.close(second)
    house.runs.official.close(first)
    rates = [
        house.runs.scores.disclosed(run.record.number)["whole"]["success_rate"]["value"] for run in (first, second)
    ]
    assert rates[0] == rates[1], "they differ by less than their standard error"


def test_linked_accounts_are_one_party_on_the_leaderboard_at_once(site, say):
    house = site.house
    for name in ("ada", "bob"):
        site.account(name)
        play(house, 12, name)
    assert say("token", "link", "bob", "ada", "--home", house.home.folder).code == 0
    assert house.submissions.view.behind() == []


def test_a_view_that_is_behind_is_said(site):
    house = site.house
    (house.home.places.view / "rotations.json").write_bytes(b"{}")
    assert house.submissions.view.behind() == ["rotations.json"]
    assert site.get("/readyz").json() == {"ok": True, "behind": True}
    finding = home_checks.check(house.home.folder)["public view"]
    assert (finding.ok, "rotations.json" in finding.detail) == (False, True)
