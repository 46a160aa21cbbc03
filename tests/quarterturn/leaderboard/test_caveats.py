"""Tests of the public-grammar caveat on a cohort: in its `set` statement, on the leaderboard and in the doctor."""

import json

import pytest

from quarterturn.cli.daily import leaderboard_text
from quarterturn.cli.setup import home_checks
from rotation.calendar import Month

pytestmark = pytest.mark.slow

FIRST = Month.parse("2026-12")


@pytest.fixture
def house(home, stock, opened):
    """Return a home whose first four cohorts are of public grammars, and whose fifth is not."""
    house = opened(home)
    stock(house, 4, public=True)
    house.month.rotation.run(FIRST.plus(-1))
    return house


def promised(house, month):
    """Read the `set` statement of a month."""
    return json.loads(house.log.ledger.leaf(house.log.ledger.find(f"set/{month}")))["predicate"]


def test_the_set_statement_the_leaderboard_and_the_doctor_show_it(house, say):
    names = [FIRST.plus(n).cohort for n in range(4)]
    assert promised(house, FIRST)["public_grammar"] is True
    assert house.runs.caveats.public_cohorts() == house.runs.caveats.public_cohorts(FIRST) == names
    said = "public grammar: anybody can draw tasks like those of " + ", ".join(names)
    assert said in say("leaderboard", "--month", FIRST, "--home", house.home.folder).out
    assert said in home_checks.check(house.home.folder)["home"].detail


def test_the_doctor_counts_the_live_tasks_that_are_not_traceable(house):
    live = sum(len(cohort.tasks) for cohort in house.benchmark.months.cohorts("live"))
    said = f"not traceable: {live} of {live} private tasks; a leak of these tasks cannot be traced to a run"
    assert said in home_checks.check(house.home.folder)["home"].detail
    with house.home.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE vault_task SET traceable = 1")
    assert leaderboard_text.untraceable(house.runs.caveats.untraceable()) == []


@pytest.mark.full
def test_cohorts_of_imported_grammars_are_not_marked(house, stock):
    for number in range(4):
        stock(house, 1, first=10 + number)
        house.month.rotation.run(FIRST.plus(number))
        left = [FIRST.plus(n).cohort for n in range(number + 1, 4)]
        assert house.runs.caveats.public_cohorts() == house.runs.caveats.public_cohorts(FIRST.plus(number + 1)) == left
        assert promised(house, FIRST.plus(number + 1))["public_grammar"] is bool(left)
    assert leaderboard_text.public_grammar(house.runs.caveats.public_cohorts()) == []
    assert "public grammar" not in home_checks.check(house.home.folder)["home"].detail
    assert len(house.runs.caveats.public_cohorts(FIRST)) == 4  # as it was then


def test_the_doctor_needs_no_key_for_it(house, say):
    (house.home.folder / "keys" / "ring.json").unlink()
    assert "public grammar" in home_checks.check(house.home.folder)["home"].detail
