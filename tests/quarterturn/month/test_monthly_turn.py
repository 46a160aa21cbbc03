"""Tests of the turn at the command line: its plan, what it publishes, and when a month is over."""

import contextlib
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from quarterturn.errors import Refused
from rotation.calendar import Month
from rotation.turn.turn_facts import STEPS
from vault.database import transaction

from ...terminals import environment, on_a_terminal
from ..conftest import listed

pytestmark = pytest.mark.slow

QUARTERTURN = Path(sys.executable).parent / "quarterturn"


def test_the_first_turn_is_planned_run_and_reported(say, stocked):
    plan = say("turn", "plan", "--home", stocked, "--json").data
    assert (plan["month"], plan["retire"]) == ("2026-11", None)
    assert plan["enter"] == {"2026-12": 6, "2027-01": 6, "2027-02": 6, "2027-03": 6}
    assert say("turn", "status", "--home", stocked).out.startswith("no turn was made yet")
    turned = say("turn", "run", "--home", stocked, "--json").data
    assert turned == {"month": "2026-11", "steps": list(STEPS), "live": 24}
    status = say("turn", "status", "--home", stocked, "--json").data
    assert [turn["finished"] for turn in status["turns"]] == [True]
    assert [cohort["id"][-7:] for cohort in status["cohorts"]] == list(plan["enter"])


def test_the_status_names_the_submitters_whose_runs_want_looking_into(say, live, opened):
    house = opened(live)
    with transaction(house.home.engine) as session:
        for run, submitter in ((1, "shaky"), (2, "steady"), (3, "shaky")):
            house.benchmark.months.unsettle(session, run, submitter, "unknown")
    status = say("turn", "status", "--home", live, "--json").data
    assert status["reviews"] == [{"submitter": "shaky", "kind": "unknown", "runs": [1, 3]}]
    assert "review: shaky has runs with a verdict left unknown: 1, 3" in say("turn", "status", "--home", live).out


def test_the_second_turn_retires_a_quarter_and_publishes_it(say, live):
    assert say("turn", "plan", "--home", live).out.startswith("The turn of 2026-12: cohort-2026-12 retires (6 tasks)")
    turned = say("turn", "run", "--month", "2026-12", "--early", "--home", live, "--json").data
    release = live / "public" / "releases" / "Historical-2026-12"
    assert turned["live"] == 24
    assert turned["release"] == str(release)
    assert say("audit", release, "--key", live / "public" / "log.vkey").code == 0
    assert say("log", "fsck", "--home", live).code == 0
    assert say("release", "path", "2026-12", "--home", live, "--json").data["release"] == str(release)
    states = Counter(row["state"] for row in say("task", "list", "--home", live, "--json").data)
    assert states == {"live": 24, "published": 6}


def stop_after(step):
    def on_step(done):
        if done == step:
            raise KeyboardInterrupt

    return on_step


@pytest.fixture
def begun(live, opened):
    """Return a home whose turn of 2026-12 was interrupted after its third step."""
    house = opened(live)
    with contextlib.suppress(KeyboardInterrupt):
        house.month.rotation.run(house.benchmark.months.live_month(), stop_after("retire"))
    return live


def test_a_turn_under_way_is_said_to_be_and_stops_runs(say, begun):
    plan = say("turn", "plan", "--home", begun, "--json").data
    assert plan["done"] == ["stop", "close", "check", "retire"]
    assert plan["left"] == ["publish", "commit", "set", "sign", "activate"]
    say("run", "--as", "me", "--set", "private", "--agent", "true", "--home", begun).refuses(4, "is under way")
    assert say("turn", "run", "--month", "2027-01", "--home", begun).code == 4
    assert say("turn", "run", "--home", begun, "--json").data["month"] == "2026-12"


def test_a_live_month_that_is_not_over_is_turned_by_a_word_of_its_own_alone(stocked, say):
    settings = stocked / "quarterturn.toml"
    settings.write_text(settings.read_text().replace('"2026-12"', '"2098-12"'))
    assert say("turn", "run", "--home", stocked).code == 0, "the first turn retires nothing"
    before, files = say("turn", "status", "--home", stocked, "--json").data, listed(stocked)
    sentence = (
        "2098-12 is live until 2099-01-01 at 00:00 UTC, so nothing was changed: `quarterturn turn run --early` ends it "
        "now and for good, and publishes 6 tasks of cohort-2098-12, with all results on them"
    )
    for words in ((), ("--month", "2098-12")):
        say("turn", "run", *words, "--home", stocked).refuses(8, sentence)
    code, shown = on_a_terminal(QUARTERTURN, "turn", "run", "--home", stocked, env=environment(), typed=b"y\n")
    assert (code, "--early" in shown, "[y/N]" in shown) == (8, True, False), "nothing is asked"
    assert (say("turn", "status", "--home", stocked, "--json").data, listed(stocked)) == (before, files)
    assert say("turn", "run", "--early", "--home", stocked, "--json").data["month"] == "2098-12"


LAST_SECOND = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "is_refused"),
    [
        (LAST_SECOND, True),
        (LAST_SECOND + timedelta(seconds=1), False),
        (datetime(2027, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), True),
        (datetime(2026, 12, 31, 19, 0, tzinfo=timezone(timedelta(hours=-5))), False),
    ],
    ids=["last second", "first second", "new year in the east", "old year in the west"],
)
def test_a_month_is_over_with_its_last_second_in_utc(moment, is_refused, live, opened):
    with pytest.raises(Refused, match="--early") if is_refused else contextlib.nullcontext():
        opened(live, lambda: moment).benchmark.calendar.require_over(Month.parse("2026-12"))


def test_a_turn_that_was_begun_is_never_early(begun, opened):
    opened(begun, lambda: LAST_SECOND.replace(year=2020)).benchmark.calendar.require_over(Month.parse("2026-12"))
