"""Tests of the leaderboard's changelog: rows of the public log, each with its leaf."""

from datetime import UTC, datetime

import pytest

from rotation.calendar import Month
from rotation.leaderboard import changelog
from vault.ledger.statements import leaf
from vault.ledger.statements.statement import Statement

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
FIRST = Month.parse("2026-12")

pytestmark = pytest.mark.slow


@pytest.fixture
def house(live, opened):
    return opened(live, lambda: NOW)


def append_leaves(house, *leaves):
    """Append leaves to the log, whatever an audit would say of them, and give their indexes."""
    house.log.ledger._guard = None
    places = [house.log.ledger.record(f"test/{place}/{len(data)}", data) for place, data in enumerate(leaves)]
    house.log.ledger.publish()
    return places


def withdrawn(house, month, why):
    cohort = next(one for one in house.benchmark.months.cohorts() if one.state == "live")
    return leaf.withdraw(cohort.tasks[0], b"c" * 32, month=month, cause="leak", reason=why, replacement=cohort.tasks[1])


def test_a_month_begins_with_its_set(house):
    (row,) = changelog.of_month(house.home.places.log, FIRST)
    statement = Statement.parse(house.log.ledger.leaf(row.pop("leaf")))
    assert (statement.kind, statement.predicate["month"]) == ("set", "2026-12")
    assert row == {"kind": "set", "subject": "set/2026-12", "tasks": 24, "cause": None, "why": "turn"}


def test_every_removal_is_a_row_with_its_leaf_and_its_reason_the_newest_first(house):
    abort = leaf.abort(run=1, month="2026-12", reason="interrupted", commitment=b"d" * 32)
    places = append_leaves(house, withdrawn(house, "2026-12", "its goal was wrong"), abort)
    rows = changelog.of_month(house.home.places.log, FIRST)
    assert [(row["leaf"], row["kind"], row["tasks"], row["cause"], row["why"]) for row in rows[:2]] == [
        (places[1], "abort", None, None, "interrupted"),
        (places[0], "withdraw", 1, "leak", "its goal was wrong"),
    ]
    live = next(one for one in house.benchmark.months.cohorts() if one.state == "live")
    assert live.tasks[1] not in repr(rows), "of the task in its place nothing is told"


def test_a_change_belongs_to_the_leaderboard_of_its_month_alone(house):
    append_leaves(house, withdrawn(house, "2026-12", "of december"))
    house.month.rotation.run(FIRST)
    append_leaves(house, leaf.abort(run=1, month="2027-01", reason="of-january", commitment=b"d" * 32))
    december, january = (changelog.of_month(house.home.places.log, FIRST.plus(number)) for number in (0, 1))
    assert [row["kind"] for row in december] == ["withdraw", "set"]
    subjects = {row["kind"]: row["subject"] for row in january}
    assert subjects == {"abort": "run/1", "set": "set/2027-01", "retire": "cohort-2026-12"}
    assert january[2]["tasks"] == 6


def test_an_unpublished_change_is_no_row(house):
    before = changelog.of_month(house.home.places.log, FIRST)
    house.log.ledger._guard = None
    house.log.ledger.record("test/0", leaf.abort(run=1, month="2026-12", reason="x", commitment=b"d" * 32))
    assert changelog.of_month(house.home.places.log, FIRST) == before


def test_they_are_found_behind_many_other_leaves(house):
    several = [leaf.abort(run=n, month="2026-12", reason="x", commitment=b"d" * 32) for n in range(1, 302)]
    append_leaves(house, *several)
    rows = changelog.of_month(house.home.places.log, FIRST)
    assert [row["leaf"] for row in rows] == sorted((row["leaf"] for row in rows), reverse=True)
    assert [row["kind"] for row in rows] == ["abort"] * 301 + ["set"]


def test_a_log_that_is_not_there_has_none(tmp_path):
    assert changelog.of_month(tmp_path, FIRST) == []


def test_the_leaderboard_of_an_ended_month_lists_what_its_turn_did(house):
    house.submissions.refresh_view()
    append_leaves(house, withdrawn(house, "2026-12", "late"))
    house.month.rotation.run(FIRST)
    house.submissions.view.update()
    assert b'"why":"late"' in (house.home.places.view / "board" / "2026-12.json").read_bytes()
