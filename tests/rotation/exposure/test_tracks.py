"""Tests of hosted endpoints' exposure: served the cohort that leaves next, and recorded as such."""

from collections import Counter
from dataclasses import replace

import pytest

from rotation.errors import NotAllowed
from rotation.exposure.tracks import DOCKER, ENDPOINT, TRACKS, UNOFFICIAL, track_of
from rotation.runs.run_tasks import OpenRun
from sandbox.endpoint.address import parse
from sandbox.runs import submission as submissions
from vault.ledger.audit.verify import audit
from vault.ledger.statements import log_state

from ..conftest import FIRST, SMALL, Benchmark, NamedBox

pytestmark = pytest.mark.slow

HOSTED = submissions.endpoint(parse("https://agent.example.org/tasks"), submitter="host")


def play(home: Benchmark, attempts: int = 1) -> OpenRun:
    """Open, fill and close a hosted run that passes all of its tasks, the first after so many attempts."""
    run = home.official.open(HOSTED, NamedBox())
    for place, task in enumerate(home.serve(run)):
        for _ in range(0 if place else attempts - 1):
            home.serve_again(run, task.id)
        home.run_tasks.record(run, home.done(task.id))
    home.official.close(run)
    return run


def tags(home: Benchmark, tasks: tuple[str, ...]) -> set[str]:
    return {home.vault.record(task).skeleton_tag for task in tasks}


def test_every_track_has_its_row():
    assert {name: track.name for name, track in TRACKS.items()} == {name: name for name in TRACKS}
    assert [track.name for track in TRACKS.values() if track.read] == ["endpoint"]


def test_the_kind_decides_and_then_the_box():
    image = replace(HOSTED, kind="image")
    official, other = NamedBox(), NamedBox("bwrap", official=False)
    assert track_of(HOSTED, official) == track_of(HOSTED, other) == ENDPOINT
    assert track_of(image, official) == DOCKER
    assert track_of(image, other) == track_of(replace(HOSTED, kind="command"), official) == UNOFFICIAL


def test_an_endpoint_is_served_the_sunset_cohort_and_the_log_says_so(begun_home):
    run = play(begun_home)
    assert [str(cohort.retires) for cohort in run.cohorts] == [str(FIRST)]
    opened = begun_home.leaf(f"run-open/{run.record.number}").predicate
    assert (opened["track"], opened["cohorts"]) == ("endpoint", [FIRST.cohort])
    scored = begun_home.leaf(f"score/{run.record.number}").predicate
    assert (scored["track"], scored["count"], len(scored["totals"])) == ("endpoint", SMALL.cohort_size, 1)


def test_without_a_sunset_cohort_nothing_is_served(begun_home):
    live = [cohort for cohort in begun_home.months.cohorts("live") if cohort.retires != FIRST]
    with pytest.raises(NotAllowed, match="'endpoint'"):
        ENDPOINT.cohorts(live, FIRST.cohort)
    assert len(DOCKER.cohorts(live, FIRST.cohort)) == 3


@pytest.mark.parametrize("attempts", [1, 3])
def test_each_serving_is_an_exposure_and_its_skeleton_is_seen(begun_home, attempts):
    run = play(begun_home, attempts)
    first, *others = run.tasks
    served = {task: times for task, _, _, times in begun_home.exposures.totals()}
    assert served == {first: attempts} | dict.fromkeys(others, 1)
    assert {row[1:3] for row in begun_home.exposures.totals()} == {("host", "endpoint")}
    assert begun_home.months.seen() == tags(begun_home, run.tasks)
    again = play(begun_home)
    assert [times for *_, times in begun_home.exposures.totals()] == [attempts + 1, *[2] * len(others)]
    assert again.tasks == run.tasks


def test_an_aborted_run_has_exposed_its_tasks(begun_home):
    run = begun_home.official.open(HOSTED, NamedBox())
    begun_home.serve(run)
    begun_home.run_tasks.stop(run, "mistake")
    assert {channel for _, _, channel, _ in begun_home.exposures.totals()} == {"endpoint"}
    assert begun_home.months.seen() == tags(begun_home, run.tasks)


def test_a_boxed_run_exposes_nothing_to_anybody(begun_home):
    begun_home.play("sealed", 0.5)
    assert {channel for _, _, channel, _ in begun_home.exposures.totals()} == {"docker"}
    assert begun_home.months.seen() == set()


def test_a_fresh_cohort_has_no_skeleton_that_an_endpoint_has_read(begun_home):
    read = tags(begun_home, play(begun_home).tasks)
    begun_home.rotation.run(FIRST)
    fresh = next(c for c in begun_home.months.cohorts("live") if c.retires == FIRST.plus(4))
    assert not read & tags(begun_home, fresh.tasks)
    counts = begun_home.leaf(f"set/{FIRST.plus(1)}").predicate["counts"]
    assert counts == {"unseen": SMALL.size, "seen": 0}  # what was read has left


def test_an_auditor_accepts_months_with_and_without_hosted_runs(begun_home):
    """The first month has a hosted run between two others, the second an aborted one, the third none."""
    begun_home.play("before", 0.5)
    play(begun_home)
    begun_home.play("after", 0)
    begun_home.rotation.run(FIRST)
    second = FIRST.plus(1)
    aborted = begun_home.official.open(HOSTED, NamedBox())
    begun_home.serve(aborted)
    begun_home.stock(1)
    begun_home.rotation.run(second)
    used = {}
    for retired in (FIRST, second):
        lines = (begun_home.audited(retired) / "runs.jsonl").read_text().splitlines()
        used[retired] = Counter("host" if '"submitter":"host"' in line else "sealed" for line in lines)
    assert used[FIRST] == {"host": 1, "sealed": 2}
    assert used[second] == {"host": 1, "sealed": 2}  # a hosted run of December was never served January's cohort


def test_a_full_score_of_a_hosted_run_can_be_recomputed_at_once(begun_home):
    play(begun_home)
    begun_home.rotation.run(FIRST)
    assert audit(begun_home.audited(FIRST), [begun_home.vkey]).pending is None


def test_the_audit_knows_the_same_tracks_and_what_each_is_served():
    assert set(log_state.ALL_COHORTS) == {name for name, track in TRACKS.items() if not track.read}
    assert set(log_state.NEXT_COHORT) == {name for name, track in TRACKS.items() if track.read}


def test_a_run_of_no_track_of_the_set_is_not_opened(begun_home):
    begun_home.spec = replace(SMALL, tracks=("docker",))
    begun_home.reopen()
    with pytest.raises(NotAllowed, match="no track 'endpoint'; its tracks are: docker"):
        begun_home.open("read", kind="endpoint")
    assert begun_home.open().record.track == "docker"
    assert begun_home.open("elsewhere", official=False).record.track == "unofficial"
