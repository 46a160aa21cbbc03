"""Tests of disclosure of a further run: compared with the newest disclosed one of its month, track and submitter."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlmodel import col

from quarterturn.app import Application
from rotation.leaderboard import figures
from sandbox.results.score import Figure, score
from sandbox.runs.tables import RunRow
from vault.database import transaction

from ..rotation.conftest import NamedBox, submission

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
ERROR = 0.05


@pytest.fixture
def house(home: Path, opened: Callable[..., Application]) -> Application:
    house = opened(home, lambda: NOW)
    for name in ("ada", "bob", "countess"):
        house.accounts.create(name, "submitter")
    house.accounts.link("countess", "ada")
    return house


@pytest.fixture
def rate(house: Application) -> Callable[..., float]:
    """Score a run at a success rate, and give the rate that is disclosed."""

    def rate(value: float, submitter: str = "ada", *, month: str = "2026-12", track: str = "docker") -> float:
        number = house.runs.open(submission(submitter), month=month, track=track, tasks=1, box=NamedBox()).number
        figure = Figure(value, 20, value - 1.96 * ERROR, value + 1.96 * ERROR)
        scores = dict.fromkeys(figures.KEPT, replace(score([]), success_rate=figure, attempted=20))
        record = house.runs.get(number)
        with transaction(house.engine) as session:
            session.exec(update(RunRow).where(col(RunRow.number) == number).values(state="done"))
            house.scorekeeper.disclose(session, record, scores)
        found = house.scores.disclosed(number)
        assert found is not None
        return found["whole"]["success_rate"]["value"]

    return rate


def test_a_run_is_compared_with_the_newest_disclosed_one(rate):
    assert [rate(0.5), rate(0.6), rate(0.62), rate(0.56)] == [0.5, 0.6, 0.6, 0.6]


def test_runs_of_linked_accounts_are_one_submitters(rate):
    assert [rate(0.5), rate(0.52, "countess"), rate(0.52, "bob")] == [0.5, 0.5, 0.52]


def test_another_track_and_another_month_begin_anew(rate):
    assert [rate(0.5), rate(0.52, track="endpoint"), rate(0.52, month="2027-01")] == [0.5, 0.52, 0.52]
