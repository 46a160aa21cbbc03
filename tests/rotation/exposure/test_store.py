"""Tests of the exposure ledger: who was served what, when, through which channel, and what is overexposed."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from rotation.exposure.store import ExposureLimits, Serving, exposure_summaries, proposals
from vault.database import transaction

from ..conftest import FIRST

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def served(task, submitter, *, channel="docker", times=1, run=1, month="2026-12", skeleton=None):
    return Serving(task, skeleton or f"of-{task}", run, month, submitter, channel, times, NOW, NOW)


@pytest.mark.slow
@pytest.mark.both_databases
def test_the_ledger_says_who_was_served_what_when_and_how_often(begun_home):
    run = begun_home.play("careful", 0.5)
    again = begun_home.open("careful")
    begun_home.run_tasks.serve(again, run.tasks[0])
    begun_home.serve_again(again, run.tasks[0])
    begun_home.run_tasks.serve(again, *run.tasks[1:])
    first, second = begun_home.exposures.servings(run.tasks[0])
    assert [(s.run, s.month, s.submitter, s.channel, s.times) for s in (first, second)] == [
        (run.record.number, str(FIRST), "careful", "docker", 1),
        (again.record.number, str(FIRST), "careful", "docker", 2),
    ]
    assert first.first_at == first.last_at < second.first_at < second.last_at
    assert {s.skeleton for s in (first, second)} == {begun_home.vault.record(run.tasks[0]).skeleton_tag}
    assert begun_home.exposures.totals(run.tasks[0]) == [(run.tasks[0], "careful", "docker", 3)]
    assert len(begun_home.exposures.servings()) == 2 * len(run.tasks)


def test_a_burn_counts_servings_submitters_and_readers_and_nobody_twice():
    ledger = [
        served("t", "ada", times=2),
        served("t", "ada", channel="upstream:big", times=2),
        served("t", "bob", run=2, month="2027-01"),
        served("t", "eve", channel="endpoint", run=3, month="2027-01"),
    ]
    burn = exposure_summaries(ledger, lambda s: s.task)["t"]
    assert (burn.servings, burn.submitters) == (4, {"ada": 2, "bob": 1, "eve": 1})
    assert burn.readers == ("endpoint:eve", "upstream:big")
    assert {month: (rate.servings, rate.submitters) for month, rate in burn.months.items()} == {
        "2026-12": (2, 1),
        "2027-01": (2, 2),
    }
    assert burn.months["2026-12"].channels == {"docker": 2, "upstream:big": 2}


@pytest.mark.parametrize(("times", "over"), [(80, False), (81, True)])
def test_a_task_that_one_submitter_was_served_too_often_is_proposed(times, over):
    ledger = [served("t", "ada", times=times), served("t", "bob", times=50, run=2), served("u", "bob", times=50)]
    found = proposals(ledger, ExposureLimits(), {"t", "u", "never-served"})
    assert [(p.task, p.month) for p in found] == ([("t", "2026-12")] if over else [])
    assert not over or "served to ada 81 times, the limit is 80" in found[0].why


def test_a_skeletons_readers_count_for_all_of_its_tasks():
    ledger = [served("t", f"s{n}", channel=f"upstream:m{n}", skeleton="k") for n in range(3)]
    ledger += [served("u", "ada", skeleton="k"), served("v", "ada")]
    found = proposals(ledger, ExposureLimits(readers=2), {"t", "u", "v"})
    assert [p.task for p in found] == ["t", "u"]
    assert found[1].why == "its skeleton was read by 3, the limit is 2"


def test_tasks_that_leave_are_not_proposed():
    assert proposals([served("t", "ada", times=1000)], ExposureLimits(), {"u"}) == []


@pytest.mark.slow
@pytest.mark.both_databases
def test_only_what_somebody_was_sent_do_they_know(begun_home):
    def serve(submitter, run, task, channel):
        record = SimpleNamespace(number=run, month=str(FIRST), submitter=submitter)
        with transaction(begun_home.engine) as session:
            begun_home.exposures.expose(session, record, task, "k", channel=channel)

    serve("ada", 7, "t", "endpoint")
    serve("ada", 4, "u", "endpoint")
    serve("bob", 2, "u", "docker")
    serve("bob", 3, "v", "upstream:big")
    assert begun_home.exposures.read_before() == {"ada": {"k": 4}}
    assert [serving.task for serving in begun_home.exposures.of_same_skeletons(["v"])] == ["t", "u", "u", "v"]
    assert begun_home.exposures.of_same_skeletons(["w"]) == []
