"""Tests of turns with other plans than a quarter a month: the number of live cohorts, and the months between two."""

from collections import Counter
from dataclasses import replace

import pytest

from rotation.errors import Refused
from sandbox.runs.store import RunState
from vault.task.lifecycle import TaskState

from ..conftest import BEFORE, FIRST, SINGLE, SMALL, Benchmark

pytestmark = pytest.mark.slow

PLANS = [(2, 1), (3, 2), pytest.param(12, 1, marks=pytest.mark.full), pytest.param(2, 12, marks=pytest.mark.exhaustive)]


def benchmark(tmp_path, cohorts, period):
    """Return a benchmark with one task a cohort and one spare."""
    spec = replace(SMALL, per_cohort={SINGLE: 1}, reserve={SINGLE: 1}, cohorts=cohorts, period=period)
    home = Benchmark(tmp_path, f"sqlite:///{tmp_path / 'quarterturn.db'}", spec)
    home.stock(cohorts + 1)
    home.rotation.run(BEFORE)
    return home


@pytest.mark.parametrize(("cohorts", "period"), PLANS)
def test_a_cohort_retires_each_period_and_each_release_is_proved(tmp_path, cohorts, period):
    home = benchmark(tmp_path, cohorts, period)
    retire = [FIRST.plus(period * (place + 1) - 1) for place in range(cohorts)]
    assert [cohort.retires for cohort in home.months.cohorts("live")] == retire
    for number in range(2 * period):
        month = FIRST.plus(number)
        docker, endpoint = home.play("careful", 1), home.finish(home.open("read", kind="endpoint"))
        assert len(docker.tasks) == cohorts
        assert [cohort.id for cohort in endpoint.cohorts] == [home.months.sunset(month)]
        turns_over = (number + 1) % period == 0
        plan = home.planner.plan(month) if not turns_over else None
        assert plan is None or (plan.retire, dict(plan.enter)) == (None, {})
        home.stock(1 if turns_over else 0)
        home.rotation.run(month)
        assert len(home.vault.records(TaskState.LIVE)) == cohorts
        assert (home.releases / month.release).is_dir() == turns_over
        if turns_over:
            home.audited(month)
    newest = home.months.cohorts("live")[-1]
    assert newest.retires.since(newest.entered) + 1 == cohorts * period
    home.engine.dispose()


@pytest.mark.full
def test_months_without_a_retirement_are_months_of_their_own(tmp_path):
    home = benchmark(tmp_path, 3, 2)
    unserved, spare = home.open(), home.vault.records(TaskState.REVIEWED)[0].id
    home.withdrawals.withdraw([spare], "its text was posted", cause="leak", who="ada")
    home.rotation.run(FIRST)
    assert home.runs.get(unserved.record.number).state is RunState.ABORTED
    assert home.play("careful", 1).record.month == "2027-01"
    home.stock(2)
    home.rotation.run(FIRST.plus(1))
    assert spare in (home.audited(FIRST.plus(1)) / "withdrawn.jsonl").read_text()
    home.rotation.run(FIRST.plus(2))
    home.stock(1)
    home.rotation.run(FIRST.plus(3))
    assert not (home.audited(FIRST.plus(3)) / "withdrawn.jsonl").exists()


@pytest.mark.parametrize("other", [{"cohorts": 2}, {"period": 3}])
def test_a_plan_never_changes_once_it_is_promised(tmp_path, other):
    home = benchmark(tmp_path, 3, 1)
    home.stock(5)
    home.spec = replace(home.spec, **other)
    home.reopen()
    with pytest.raises(Refused, match="promised to retire with 2026-12, 2027-01, 2027-02"):
        home.rotation.run(FIRST)
    assert Counter(turn.finished for turn in home.months.turns()) == {True: 1}
