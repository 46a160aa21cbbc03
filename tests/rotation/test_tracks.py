"""Tracks: a hosted endpoint reads what it is sent, so it is sent the cohort that leaves next, and the books say so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rotation.calendar import Month
from rotation.errors import NotAllowed
from rotation.official import OpenRun
from rotation.tracks import DOCKER, ENDPOINT, TRACKS, UNOFFICIAL, track_of
from sandbox import submission as submissions
from sandbox.endpoint.address import parse
from vault.ledger.audit import audit
from vault.ledger.leaf import Statement

from .conftest import FIRST, Benchmark, NamedBox, outcome

pytestmark = pytest.mark.slow

HOSTED = submissions.endpoint(parse("https://agent.example.org/tasks"), submitter="host")
BEFORE = FIRST.plus(-1)


@pytest.fixture
def month(begun_home: Benchmark) -> Benchmark:
    return begun_home


def play(home: Benchmark, attempts: int = 1) -> OpenRun:
    """Open, fill and close a hosted run that passes all of its tasks, each after so many attempts."""
    run = home.official.open(HOSTED, NamedBox())  # type: ignore[arg-type]
    for task in home.official.serve(run):
        done = outcome(task.id, home.books.vault.record(task.id).category, passed=True)
        for _ in range(attempts - 1):
            home.official.serve_again(run, task.id)
        home.official.record(run, replace(done, attempts=attempts))
    home.official.close(run)
    return run


def leaf(home: Benchmark, key: str) -> Statement:
    return Statement.parse(home.books.ledger.leaf(home.books.leaf_index(key)))


def tags(home: Benchmark, tasks: tuple[str, ...]) -> set[str]:
    return {home.books.vault.record(task).skeleton_tag for task in tasks}


def test_every_track_has_its_row() -> None:
    assert {name: track.name for name, track in TRACKS.items()} == {name: name for name in TRACKS}
    assert [track.name for track in TRACKS.values() if track.read] == ["endpoint"]


def test_the_kind_decides_and_then_the_box() -> None:
    image = replace(HOSTED, kind="image")
    official, other = NamedBox(), NamedBox("bwrap", official=False)
    assert track_of(HOSTED, official) == track_of(HOSTED, other) == ENDPOINT  # type: ignore[arg-type]
    assert track_of(image, official) == DOCKER  # type: ignore[arg-type]
    assert track_of(image, other) == track_of(replace(HOSTED, kind="command"), official) == UNOFFICIAL  # type: ignore[arg-type]


def test_an_endpoint_is_served_the_sunset_cohort_and_the_log_says_so(month: Benchmark) -> None:
    run = play(month)
    assert [str(cohort.retires) for cohort in run.cohorts] == [str(FIRST)]
    opened = leaf(month, f"run-open/{run.record.number}").predicate
    assert (opened["track"], opened["cohorts"]) == ("endpoint", [FIRST.cohort])
    scored = leaf(month, f"score/{run.record.number}").predicate
    assert (scored["track"], scored["count"], len(scored["totals"])) == ("endpoint", 6, 1)


def test_where_no_cohort_is_at_its_sunset_nothing_is_served(month: Benchmark) -> None:
    live = [cohort for cohort in month.books.months.cohorts("live") if cohort.retires != FIRST]
    with pytest.raises(NotAllowed, match="'endpoint'"):
        ENDPOINT.cohorts(live, FIRST)
    assert len(DOCKER.cohorts(live, FIRST)) == 3


@pytest.mark.parametrize("attempts", [1, 3])
def test_each_serving_is_an_exposure_and_its_skeleton_is_seen(month: Benchmark, attempts: int) -> None:
    run = play(month, attempts)
    assert month.books.exposures.totals() == [(task, "host", "endpoint", attempts) for task in run.tasks]
    assert month.books.months.seen() == tags(month, run.tasks)
    again = play(month)
    assert {times for *_, times in month.books.exposures.totals()} == {attempts + 1}
    assert again.tasks == run.tasks


def test_a_run_that_breaks_off_has_shown_its_tasks_all_the_same(month: Benchmark) -> None:
    run = month.official.open(HOSTED, NamedBox())  # type: ignore[arg-type]
    month.official.serve(run)
    month.official.abort(run.record.number, "interrupted")
    assert {channel for _, _, channel, _ in month.books.exposures.totals()} == {"endpoint"}
    assert month.books.months.seen() == tags(month, run.tasks)


def test_a_run_behind_the_wall_shows_nobody_anything(month: Benchmark) -> None:
    month.play("sealed", 0.5)
    assert {channel for _, _, channel, _ in month.books.exposures.totals()} == {"docker"}
    assert month.books.months.seen() == set()


def test_a_fresh_cohort_has_no_skeleton_that_an_endpoint_has_read(month: Benchmark) -> None:
    read = tags(month, play(month).tasks)
    month.rotation.run(FIRST)
    fresh = next(c for c in month.books.months.cohorts("live") if c.retires == FIRST.plus(4))
    assert not read & tags(month, fresh.tasks)
    counts = leaf(month, f"set/{FIRST.plus(1)}").predicate["counts"]
    assert counts == {"unseen": 24, "seen": 0}  # what was read has left


def test_an_auditor_accepts_months_with_and_without_hosted_runs(month: Benchmark) -> None:
    """The first month has a hosted run between two others, the second one that is aborted, and the third none."""
    month.play("before", 0.5)
    play(month)
    month.play("after", 0)
    month.rotation.run(FIRST)
    second = FIRST.plus(1)
    aborted = month.official.open(HOSTED, NamedBox())  # type: ignore[arg-type]
    month.official.serve(aborted)
    month.stock(1)
    month.rotation.run(second)
    used: dict[Month, Counter[str]] = {}
    for retired in (FIRST, second):
        folder = month.releases / retired.release
        report = audit(folder, [month.vkey])
        assert report.ok, [step for step in report.steps if not step.ok]
        lines = (folder / "runs.jsonl").read_text().splitlines()
        used[retired] = Counter("host" if '"submitter":"host"' in line else "sealed" for line in lines)
    assert used[FIRST] == {"host": 1, "sealed": 2}
    assert used[second] == {"host": 1, "sealed": 2}  # a hosted run of December was never served January's cohort


def test_a_full_score_of_a_hosted_run_can_be_recomputed_at_once(month: Benchmark) -> None:
    play(month)
    month.rotation.run(FIRST)
    report = audit(month.releases / FIRST.release, [month.vkey])
    assert (report.ok, report.pending) == (True, None)
