"""Tests of scanning real runs in a real database: who was exposed to what, and which findings become rows."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.scan_results import Scanner
from rotation.exposure.store import ExposureLimits
from sandbox.endpoint.address import parse
from sandbox.runs import submission as submissions
from verifiers.language.verdict import Verdict

from ..conftest import BEFORE, DEMO, FIRST, SMALL, Benchmark, NamedBox, Prepared, begun, stocked

pytestmark = pytest.mark.slow

HOSTED = submissions.endpoint(parse("https://agent.example.org/tasks"), submitter="host")
LIMITS = ExposureLimits()
PEERS = ("ada", "bob", "carol", "dan", "mallory")


@dataclass(frozen=True)
class Judged:
    rotation: int
    tested: DetectorResult
    p_value: float
    holm: float
    discovery: float


def gap(table, rotation):
    """A stub detector: flags who passes every exposed task and no other in the newest rotation."""
    for submitter, name in enumerate(table.submitters):
        runs = (table.submitter == submitter) & (table.rotation == rotation)
        exposed = table.exposed[runs] & table.taken[runs]
        fresh = ~table.exposed[runs] & table.taken[runs]
        caught = table.passed[runs][exposed].all() and not table.passed[runs][fresh].any()
        p = 0.0001 if caught and fresh.any() else 0.6
        yield Judged(rotation, DetectorResult("leak", name, p, z=0), p, min(1, p * 5), min(1, p * 5))


@pytest.fixture(scope="module")
def two_months(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmark]:
    home = prepared(begun, SMALL)[0].copied(tmp_path_factory.mktemp("two-months"))
    for name in PEERS:
        home.play(name, 0.5)
    home.rotation.run(FIRST)
    for name in PEERS:
        home.play(name, 9 / 12 if name == "mallory" else 0.5)
    yield home
    home.engine.dispose()


@pytest.fixture
def months(two_months: Benchmark, tmp_path: Path) -> Iterator[Benchmark]:
    """Play two months of five submitters; all are honest, but in the second one passes exactly the old tasks."""
    home = two_months.copied(tmp_path)
    yield home
    home.engine.dispose()


@pytest.fixture
def watch(monkeypatch):
    """Gives scanners with other detectors in the place of the real ones; nor do they test anything in rotation 1."""

    def made(home: Benchmark, scan=gap, smallest=None, limits=LIMITS) -> Scanner:
        compared = lambda table, rotation: scan(table, rotation) if rotation > 1 else []  # noqa: E731
        monkeypatch.setattr("rotation.detection.detectors.scan.judged", compared)
        monkeypatch.setattr("rotation.detection.scan_results._smallest", lambda table, rotation: smallest)
        return home.scanner(limits)

    return made


def test_tasks_live_a_month_before_are_exposed_and_fresh_ones_are_not(months):
    table = months.sealed_results.table("test", months.sealed_results.runs())
    assert (table.submitters, len(table.runs), len(table.tasks)) == (PEERS, 10, 15)
    assert [int(row.sum()) for row in table.taken] == [12] * 10
    assert [int(row.sum()) for row in table.exposed] == [0] * 5 + [9] * 5
    fresh = months.months.cohorts("live")[-1]
    assert {table.tasks[place] for place in np.flatnonzero(table.first == 2)} == set(fresh.tasks)
    assert not set(table.families) & {"t"}, "families are tags"
    servers = {task.id: task.server for task in months.vault.records()}
    like = {(servers[task], int(server)) for task, server in zip(table.tasks, table.server, strict=True)}
    assert len(like) == len({server for server, _ in like}) == len({place for _, place in like}) > 1


def test_the_same_tools_in_the_same_order_are_one_sequence(months):
    table = months.sealed_results.table("test", months.sealed_results.runs())
    made = {}
    for record in months.runs.list():
        for one in months.runs.results(record.number, who="test", why="test"):
            cell = table.runs.index(f"{record.number:09d}"), table.tasks.index(one.task_id)
            made.setdefault(tuple(one.transcript.tools), set()).add(int(table.sequence[cell]))
    assert len(made) > 1
    assert sorted(index for indices in made.values() for index in indices) == list(range(len(made)))


def test_a_leaky_submitter_becomes_a_finding_with_a_review_and_the_honest_do_not(months, watch):
    watch(months).run("test")
    found = {one.subject: (one.status, one.state, str(one.month)) for one in months.findings.all()}
    assert found.pop("mallory") == ("review", "open", "2027-01")
    assert found == dict.fromkeys(PEERS[:-1], ("clean", None, "2027-01"))
    assert [(str(one.month), one.runs, one.submitters) for one in months.findings.scans()] == [
        ("2026-12", 5, 5),
        ("2027-01", 5, 5),
    ]


def test_scanning_again_changes_nothing_and_every_scan_is_one_entry_in_the_access_log(months, watch):
    for _ in range(2):
        watch(months).run("results of run 10")
    before = months.findings.all()
    watch(months).run("results of run 10")
    assert months.findings.all() == before
    entries = [entry for entry in months.vault.access_log() if entry.who == "watch"]
    assert [(entry.what, entry.why) for entry in entries] == [("blobs/closing/* (10)", "results of run 10")] * 3


def test_a_scan_opens_no_result_from_before_the_months_that_its_tests_read(months, watch, monkeypatch):
    watch(months, scan=lambda table, rotation: []).run("both months")
    monkeypatch.setattr("rotation.detection.scan_results.LOOKBACK", 1)
    read = []
    watch(months, scan=lambda table, rotation: read.append((rotation, set(table.rotation))) or []).run("test")
    assert read == [(2, {2})]
    assert [entry.what for entry in months.vault.access_log() if entry.who == "watch"][1:] == ["blobs/closing/* (5)"]


def test_in_the_first_month_there_is_nothing_to_compare(begun_home):
    for name in PEERS:
        begun_home.play(name, 1)
    begun_home.scanner(LIMITS).run("test")
    assert begun_home.findings.all() == []


def test_a_scan_tests_the_newest_month_and_unscanned_runs_and_the_rest_stands(months, watch):
    asked: list[int] = []

    def scan(table, rotation):
        asked.append(rotation)
        return gap(table, rotation)

    watch(months, scan).run("test")
    before = months.findings.all()
    months.stock(1)
    months.rotation.run(FIRST.plus(1))
    watch(months, scan).run("turn")
    months.play("ada", 0.5)
    watch(months, scan).run("test")
    assert asked == [2, 2, 3], "the second month was the newest at the turn"
    months.findings.failed(FIRST.plus(1), ValueError())
    months.findings.failed(FIRST, ValueError())
    watch(months, scan).run("test")
    assert asked[3:] == [2, 3], "a month whose last look failed is tested again"
    assert months.findings.all(FIRST.plus(1)) == before


def test_the_smallest_leak_that_few_peers_show_is_stored_with_the_scan(months, watch):
    for share in (0.3, None):
        watch(months, smallest=share).run("test")
        looks = months.findings.scans()
        assert [one.smallest for one in looks] == [None, share], "nothing is compared in the first month"


def test_tasks_sent_to_an_endpoint_are_exposed_to_its_next_run(begun_home):
    begun_home.play("host", 0.5)
    run = begun_home.official.open(HOSTED, NamedBox())
    begun_home.finish(run)
    begun_home.play("host", 0.5)
    begun_home.play("ada", 0.5)
    table = begun_home.sealed_results.table("test", begun_home.sealed_results.runs())
    exposed = {(table.submitters[table.submitter[row]], int(table.runs[row])): row for row in range(len(table.runs))}
    counts = {key: int(table.exposed[row].sum()) for key, row in exposed.items()}
    assert counts == {("host", 1): 0, ("host", 2): 0, ("host", 3): 3, ("ada", 4): 0}


def test_an_unknown_verdict_is_no_result(begun_home):

    def result(place, task):
        return replace(begun_home.done(task), verdict=Verdict.TRUE if place else Verdict.UNKNOWN)

    run = begun_home.finish(begun_home.open("odd"), result)
    table = begun_home.sealed_results.table("test", begun_home.sealed_results.runs())
    assert run.tasks[0] not in table.tasks
    assert int(table.taken.sum()) == 11


def test_a_task_over_a_limit_is_proposed_and_stays_live(months, watch):
    watch(months, lambda table, rotation: [], limits=ExposureLimits(servings=1)).run("test")
    found = [one for one in months.findings.all() if one.kind == "exposure"]
    staying = {task for cohort in months.months.cohorts("live")[1:3] for task in cohort.tasks}
    assert {one.subject for one in found} == staying, "what leaves next, and what is fresh, is not proposed"
    assert {(one.status, one.state, str(one.month)) for one in found} == {("review", "open", "2027-01")}
    assert {months.vault.record(task).state.value for task in staying} == {"live"}


def test_runs_that_are_left_unsettled_again_and_again_are_a_finding(begun_home, watch):
    from vault.database import transaction

    numbers = [begun_home.play("shaky", 0.5).record.number for _ in range(2)]
    with transaction(begun_home.engine) as session:
        for number in numbers:
            begun_home.months.unsettle(session, number, "shaky", "unclear")
    watch(begun_home).run("test")
    (found,) = begun_home.findings.all()
    assert (found.kind, found.subject, found.status, found.detail) == ("unclear", "shaky", "review", "in runs 1, 2")


def test_the_real_detectors_read_what_the_home_holds(months, watch):
    from rotation.detection.detectors.scan import judged

    watch(months, judged).run("test")
    found = months.findings.all()
    assert {(one.kind, str(one.month)) for one in found} >= {("task", "2027-01"), ("copy", "2027-01")}
    assert all(one.p_value is not None and 0 < one.p_value <= one.p_adj <= 1 for one in found)
    before = found
    watch(months, judged).run("test")
    assert months.findings.all() == before


def live(home: Benchmark) -> set[str]:
    return {task for cohort in home.months.cohorts("live") for task in cohort.tasks}


@pytest.mark.full  # `test_leaked_tasks.py` finds such a submitter in a table
def test_a_submitter_who_knows_the_kept_tasks_is_found_by_the_real_detectors_and_nobody_else(own_home, watch):
    from rotation.detection.detectors.scan import judged

    (home, _), dice = own_home(stocked, DEMO), random.Random(3)
    home.rotation.run(BEFORE)
    for month in range(2):
        if month:
            home.rotation.run(FIRST)
        fresh = home.months.cohorts("live")[-1].tasks
        for name in (*PEERS, "erin", "frank", "grace"):
            knows = {task for task in live(home) if month and name == "mallory" and task not in fresh}

            def result(_, task, knows=knows):
                passed = task in knows or dice.random() < 0.3
                return home.done(task, passed=passed, calls=1 if task in knows else dice.randint(3, 6))

            home.finish(home.open(name), result)
    watch(home, judged).run("test")
    leaks = [one for one in home.findings.all() if one.kind == "leak"]
    assert [one.subject for one in leaks if one.status == "review"] == ["mallory"]
    assert len(leaks) == 8
