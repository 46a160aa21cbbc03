"""Tests of the standings: ranks within a track, over sealed tasks, rounded, each figure with its interval."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from quarterturn.cli.daily import leaderboard_text
from rotation.leaderboard import figures, standings
from sandbox.results.score import Result
from sandbox.runs.store import RunRecord, RunState
from verifiers.language.verdict import Verdict

SUNSET = "cohort-2026-12"
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def record(number, name, *, track="docker", official=True):
    return RunRecord(
        number=number, month="2026-12", track=track, box="docker", official=official, submitter=name, name=name,
        kind="image", submission="sha256:" + "0" * 64, tasks=24, state=RunState.DONE, attempt=1, code=None,
        opened_at=NOW, started_at=NOW, ended_at=NOW,
    )  # fmt: skip


def results(number, passes, *, sunset=0, unknown=0):
    """Make results of 18 sealed tasks, of which `passes` pass, and 6 of the sunset cohort, of which `sunset` pass."""
    made = []
    for place in range(24):
        cohort = SUNSET if place < 6 else f"cohort-2027-0{1 + (place - 6) // 6}"
        passed = place < sunset if cohort == SUNSET else place - 6 < passes
        verdict = Verdict.TRUE if passed else Verdict.UNKNOWN if place >= 24 - unknown else Verdict.FALSE
        made.append(
            Result(
                run=number,
                task=f"t-{place:016d}",
                cohort=cohort,
                server="filesystem",
                category="composition",
                verdict=verdict,
                passed=passed,
                calls=3,
                max_steps=7,
                unlisted=1,
                errors_seen=0,
                skeleton=f"s{place}",
            )
        )
    return made


def lines(scored):
    """Return the leaderboard of runs with these results."""
    return standings.lines([(run, figures.of_results(found, SUNSET)) for run, found in scored])


def test_those_surely_better_come_first_and_equals_share_a_rank():
    scored = [
        (record(1, "weak"), results(1, 0)),
        (record(2, "fair"), results(2, 9)),
        (record(3, "good"), results(3, 18)),
    ]
    scored.append((record(4, "twin"), results(4, 18)))
    leaderboard = lines(scored)
    assert {line.name: line.rank for line in leaderboard} == {"good": 1, "twin": 1, "fair": 3, "weak": 4}
    assert [line.name for line in leaderboard] == ["good", "twin", "fair", "weak"]
    assert [line.as_json()["rank_range"] for line in leaderboard] == [[1, 2], [1, 2], [3, 3], [4, 4]]


def test_a_range_of_ranks_holds_all_that_the_intervals_allow():
    scored = [
        (record(place, f"a{passes}"), results(place, passes)) for place, passes in enumerate((0, 5, 9, 13, 18), 1)
    ]
    leaderboard = lines(scored)
    for line in leaderboard:
        low, high = line.ranked.success_rate.low, line.ranked.success_rate.high
        others = [other.ranked.success_rate for other in leaderboard if other is not line]
        above, below = sum(other.low > high for other in others), sum(other.high < low for other in others)
        assert line.rank_range == (1 + above, len(leaderboard) - below)
    assert [line.rank for line in leaderboard] == [line.rank_range[0] for line in leaderboard]
    assert any(low < high for low, high in (line.rank_range for line in leaderboard)), "some overlap"


def test_two_submitters_may_give_their_agents_one_name():
    scored = [(record(place, "mine"), results(place, 9)) for place in (1, 2)]
    scored = [(replace(run, submitter=who), found) for who, (run, found) in zip(("ada", "bob"), scored, strict=True)]
    assert [(line.submitter, line.name) for line in lines(scored)] == [("ada", "mine"), ("bob", "mine")]


def test_the_cohort_that_is_about_to_be_opened_stands_beside_and_ranks_nobody():
    scored = [(record(1, "leaked"), results(1, 9, sunset=6)), (record(2, "plain"), results(2, 9, sunset=0))]
    leaderboard = lines(scored)
    assert [line.rank for line in leaderboard] == [1, 1]
    assert leaderboard[0].whole.passed == 15
    assert leaderboard[0].sealed.passed == leaderboard[1].sealed.passed == 9
    assert [line.as_json()["sunset"]["success_rate"]["value"] for line in leaderboard] == [1.0, 0.0]


def test_tracks_never_share_a_rank():
    scored = [
        (record(1, "boxed"), results(1, 0)),
        (record(2, "hosted", track="endpoint"), results(2, 18)),
        (record(3, "loose", track="unofficial", official=False), results(3, 18)),
    ]
    leaderboard = {line.name: line for line in lines(scored)}
    assert (leaderboard["boxed"].rank, leaderboard["hosted"].rank, leaderboard["loose"].rank) == (1, 1, None)
    assert leaderboard["loose"].rank_range is None
    assert leaderboard["loose"].note == "unofficial"


def test_a_run_with_an_unknown_verdict_is_shown_and_not_ranked():
    line = lines([(record(1, "odd"), results(1, 9, unknown=1))])[0]
    assert (line.rank, line.note) == (None, "a verdict is unknown")


def test_the_reference_is_named_as_such():
    line = standings.reference_line("oracle", results(1, 18, sunset=6))
    assert (line.rank, line.run, line.note) == (None, None, "reference, unranked")
    assert "reference, unranked" in leaderboard_text.table([line])[1]


def test_figures_are_rounded_to_half_a_point_and_carry_their_interval_and_n():
    line = lines([(record(1, "some"), results(1, 7))])[0].as_json()
    figure = line["whole"]["success_rate"]
    assert figure["value"] == pytest.approx(0.29)  # 7 of 24
    assert figure["n"] == 24
    assert figure["low"] < figure["value"] < figure["high"]
    assert line["whole"]["hallucinated_tool_rate"]["n"] in {*range(10), *range(10, 100, 10), *range(100, 1000, 100)}
    assert (line["submitter"], line["rank_range"]) == ("some", [1, 1])
    assert line["sealed"] == figures.rounded(figures.score_of(line["sealed"])), "rounding again changes nothing"
    for name in figures.FIGURES:
        for bound in ("value", "low", "high"):
            value = line["whole"][name][bound]
            assert value is None or value * 200 == pytest.approx(round(value * 200))


def test_a_figure_over_nothing_is_a_dash():
    text = leaderboard_text.table(lines([(record(1, "none"), results(1, 0))]))
    assert text[1].split()[:2] == ["1", "none/none"]
    assert " -  " in text[1]
    assert leaderboard_text.table([]) == ["no run of this month is finished"]


def test_a_track_that_is_given_the_sunset_cohort_alone_is_ranked_on_it_by_itself():
    hosted = [
        (record(n, f"host-{n}", track="endpoint"), results(n, 0, sunset=passes)[:6]) for n, passes in ((1, 0), (2, 6))
    ]
    leaderboard = lines([*hosted, (record(3, "sealed"), results(3, 9))])
    assert {line.name: line.rank for line in leaderboard} == {"host-2": 1, "host-1": 2, "sealed": 1}
    assert {line.whole.attempted for line in leaderboard if line.track == "endpoint"} == {6}
    assert [row.split()[-1] for row in leaderboard_text.table(leaderboard)[1:]] == ["docker", "endpoint", "endpoint"]


def test_a_hosted_run_whose_worlds_had_no_official_box_has_no_rank():
    run = record(1, "host", track="endpoint", official=False)
    (line,) = lines([(run, results(1, 0, sunset=6)[:6])])
    assert (line.rank, line.note, line.track) == (None, "unofficial", "endpoint")
    assert leaderboard_text.table([line])[1].endswith("endpoint, unofficial")


def test_ranks_can_be_recomputed_from_the_leaderboard():
    """Bounds that differ by less than the shown digits separate no ranks."""
    leaderboard = lines([(record(n, f"a{n}"), results(n, passes)) for n, passes in enumerate((0, 5, 9, 10, 16, 18), 1)])
    rates = [line.as_json()["sealed"]["success_rate"] for line in leaderboard]
    assert [line.rank for line in leaderboard] == [1 + sum(o["low"] > mine["high"] for o in rates) for mine in rates]
