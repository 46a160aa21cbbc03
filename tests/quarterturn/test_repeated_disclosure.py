"""Tests of disclosure of a further run: compared with the newest disclosed one of its month, track and submitter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlmodel import col

from quarterturn.app import Application
from quarterturn.leaderboard import disclosure, scores
from quarterturn.leaderboard.tables import ScoreRow
from sandbox.boxes.box import Program
from sandbox.results.score import Figure, score
from sandbox.runs.submission import Submission
from sandbox.runs.tables import RunRow
from vault.database import transaction

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
ERROR = 0.05


class Box:
    name, official = "docker", True


@pytest.fixture
def house(home: Path) -> Iterator[Application]:
    house = Application(home, None, lambda: NOW)
    for name in ("ada", "bob", "countess"):
        house.accounts.create(name, "submitter")
    house.accounts.link("countess", "ada")
    yield house
    house.close()


@pytest.fixture
def rate(house: Application) -> Callable[..., float]:
    """Score a run at a success rate, and give the rate that is disclosed."""

    def rate(value: float, submitter: str = "ada", *, month: str = "2026-12", track: str = "docker") -> float:
        submitted = Submission("image", "agent", submitter, Program(), "sha256:" + "0" * 64)
        number = house.runs.open(submitted, month=month, track=track, tasks=1, box=Box()).number
        figure = Figure(value, 20, value - 1.96 * ERROR, value + 1.96 * ERROR)
        figures = dict.fromkeys(scores.KEPT, scores.rounded(replace(score([]), success_rate=figure, attempted=20)))
        with transaction(house.engine) as session:
            session.exec(update(RunRow).where(col(RunRow.number) == number).values(state="done"))
            session.add(ScoreRow(run=number, month=month, figures=figures))
        found = disclosure.figures(house, number)
        assert found is not None
        return found["whole"]["success_rate"]["value"]

    return rate


def test_a_run_is_compared_with_the_newest_disclosed_one(rate):
    assert [rate(0.5), rate(0.6), rate(0.62), rate(0.56)] == [0.5, 0.6, 0.6, 0.6]


def test_runs_of_linked_accounts_are_one_submitters(rate):
    assert [rate(0.5), rate(0.52, "countess"), rate(0.52, "bob")] == [0.5, 0.5, 0.52]


def test_another_track_and_another_month_begin_anew(rate):
    assert [rate(0.5), rate(0.52, track="endpoint"), rate(0.52, month="2027-01")] == [0.5, 0.52, 0.52]
