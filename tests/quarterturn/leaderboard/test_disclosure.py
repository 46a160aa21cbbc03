"""Tests of the disclosure of private scores: rounded, once, and nothing new where nothing is new."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import update
from sqlmodel import Session, col

from rotation.leaderboard import disclosure, figures
from rotation.leaderboard.tables import DisclosedScore
from sandbox.results.score import Figure, score
from sandbox.runs.tables import RunRow
from vault.database import transaction

from ...rotation.conftest import NamedBox, submission
from ..conftest import with_submitters
from ..invented_runs import open_run, passing, play

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)


def whole(value, error):
    return replace(score([]), success_rate=Figure(value, 20, value - 1.96 * error, value + 1.96 * error))


def disclosed(value, error, earlier=None):
    return disclosure.ladder(earlier, {"whole": whole(value, error), "sealed": whole(value, error)})


def test_the_first_figure_is_disclosed_to_half_a_point():
    first = disclosed(0.5138, 0.05)
    assert first["whole"]["success_rate"]["value"] == 0.515
    assert first["sealed"]["success_rate"]["low"] == round((0.5138 - 0.098) * 200) / 200


def test_a_later_figure_replaces_it_only_beyond_its_standard_error():
    first = disclosed(0.50, 0.05)
    assert disclosed(0.54, 0.05, first)["whole"] == first["whole"]
    assert disclosed(0.46, 0.05, first)["whole"] == first["whole"]
    assert disclosed(0.56, 0.05, first)["whole"]["success_rate"]["value"] == 0.56


def test_small_steps_do_not_add_up_to_an_answer():
    """Each run differs a little from the one before; all of them get the first one's figures."""
    said = [disclosed(0.50, 0.05)]
    for step in range(1, 10):
        said.append(disclosed(0.50 + step * 0.005, 0.05, said[-1]))
    assert {one["whole"]["success_rate"]["value"] for one in said} == {0.5}


def test_a_missing_value_is_disclosed_once_it_exists():
    none = disclosure.ladder(None, {"whole": score([]), "sealed": score([])})
    assert none["whole"]["success_rate"]["value"] is None
    assert disclosed(0.3, 0.1, none)["whole"]["success_rate"]["value"] == 0.3


@pytest.fixture
def house(live, opened):
    return with_submitters(opened(live, lambda: NOW), "ada")


def played(house, passes, submitter="ada"):
    return play(house, submitter, passing(lambda place, _: place < passes)).record.number


@pytest.mark.slow
@pytest.mark.both_databases
def test_runs_are_disclosed_in_their_order_and_once(house):
    first, second = played(house, 12), played(house, 13)
    later = house.runs.scores.disclosed(second)
    assert later == house.runs.scores.disclosed(first), "one task more is within the noise"
    opened = len(house.home.vault.access_log())
    assert house.runs.scores.disclosed(second) == later
    assert len(house.home.vault.access_log()) == opened, "what was told is a row; nothing is opened for it again"
    with Session(house.home.engine) as session:
        assert session.get(DisclosedScore, first).figures["whole"]["attempted"] == 24


@pytest.mark.slow
def test_a_run_that_is_not_scored_has_no_disclosure(house):
    assert house.runs.scores.disclosed(open_run(house, "ada").record.number) is None


@pytest.mark.slow
def test_the_leaderboard_has_one_line_a_submitter_with_the_number_of_their_runs(house):
    first, second = played(house, 3), played(house, 20)
    other = played(house, 10, "bob")
    lines = house.runs.leaderboard.of_month(house.benchmark.months.live_month())
    assert {line.run: line.runs for line in lines} == {first: 2, other: 1}
    assert second not in {line.run for line in lines}


@pytest.mark.slow
def test_the_leaderboard_and_disclosures_open_no_result(house):
    played(house, 3), played(house, 10, "bob")
    before = len(house.home.vault.access_log())
    first = house.runs.leaderboard.of_month(house.benchmark.months.live_month())
    assert len(house.home.vault.access_log()) == before
    third = played(house, 20, "eve")
    house.runs.scores.disclosed(third)
    before = len(house.home.vault.access_log())
    later = house.runs.leaderboard.of_month(house.benchmark.months.live_month())
    assert len(house.home.vault.access_log()) == before
    assert [line for line in later if line.run != third] == [replace(line, rank_range=(2, 3)) for line in first]


@pytest.mark.slow
def test_the_results_bound_to_a_score_give_the_same_figures_in_one_opening(house):
    record = house.runs.store.get(played(house, 7))
    before = len(house.home.vault.access_log())
    bound = house.runs.ledger.closed(record, why="test")
    assert len(house.home.vault.access_log()) == before + 1
    results = house.runs.store.results(record.number, who="test", why="test")
    recorded = {(one.task_id, one.passed, one.calls) for one in results}
    assert {(one.task, one.passed, one.calls) for one in bound} == recorded


# -- a further run of a month, track and submitter is compared with the newest disclosed one


@pytest.fixture
def rate(home, opened):
    """Score a run at a success rate, and give the rate that is disclosed."""
    house = with_submitters(opened(home, lambda: NOW), "ada", "bob", "countess")
    house.auth.accounts.link("countess", "ada")

    def rate(value: float, submitter: str = "ada", *, month: str = "2026-12", track: str = "docker") -> float:
        number = house.runs.store.open(submission(submitter), month=month, track=track, tasks=1, box=NamedBox()).number
        scores = dict.fromkeys(figures.KEPT, replace(whole(value, 0.05), attempted=20))
        record = house.runs.store.get(number)
        with transaction(house.home.engine) as session:
            session.exec(update(RunRow).where(col(RunRow.number) == number).values(state="done"))
            house.runs.scorekeeper.disclose(session, record, scores)
        found = house.runs.scores.disclosed(number)
        assert found is not None
        return found["whole"]["success_rate"]["value"]

    return rate


def test_a_run_is_compared_with_the_newest_disclosed_one(rate):
    assert [rate(0.5), rate(0.6), rate(0.62), rate(0.56)] == [0.5, 0.6, 0.6, 0.6]


def test_runs_of_linked_accounts_are_one_submitters(rate):
    assert [rate(0.5), rate(0.52, "countess"), rate(0.52, "bob")] == [0.5, 0.5, 0.52]


def test_another_track_and_another_month_begin_anew(rate):
    assert [rate(0.5), rate(0.52, track="endpoint"), rate(0.52, month="2027-01")] == [0.5, 0.52, 0.52]
