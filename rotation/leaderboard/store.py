"""Store of the figures of closed runs, and of the figures that were disclosed to their owners."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from rotation.leaderboard.figures import Scores, as_json, of_json
from rotation.leaderboard.tables import DisclosedScore, ScoreRow
from sandbox.runs.store import RunRecord


class KeptScores(NamedTuple):
    """The figures of a run, and how many broken tasks they are made without."""

    scores: Scores
    without: int


class ScoreStore:
    """Figures of closed runs by number."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of_month(self, month: str) -> dict[int, KeptScores]:
        """Return the figures of a month's runs, by the runs' numbers."""
        with Session(self._engine) as session:
            query = select(ScoreRow.run, ScoreRow.figures, ScoreRow.without).where(ScoreRow.month == month)
            return {run: KeptScores(of_json(figures), without) for run, figures, without in session.exec(query).all()}

    def keep(self, session: Session, record: RunRecord, scores: Scores, without: int) -> None:
        """Store a run's figures, unless those that are there are made without as many broken tasks."""
        row = session.get(ScoreRow, record.number)
        if row is None:
            session.add(ScoreRow(run=record.number, month=record.month, figures=as_json(scores), without=without))
        elif row.without < without:
            row.figures, row.without = as_json(scores), without

    def disclosed(self, run: int) -> Mapping[str, Any] | None:
        """Return the figures of a run as disclosed to its owner; None while it has not been scored."""
        with Session(self._engine) as session:
            row = session.get(DisclosedScore, run)
            return row.figures if row else None

    def disclosed_before(self, session: Session, record: RunRecord, party: Collection[str]) -> Mapping[str, Any] | None:
        """Return the figures disclosed to a party of its newest run in the month and track of a run; None for none.

        The newest run need not be an earlier one: of two that are played at once, the later may end first.
        """
        query = select(DisclosedScore).where(
            DisclosedScore.month == record.month,
            DisclosedScore.track == record.track,
            col(DisclosedScore.submitter).in_(party),
        )
        row = session.exec(query.order_by(col(DisclosedScore.run).desc())).first()
        return row.figures if row else None

    def disclose(self, session: Session, record: RunRecord, figures: Mapping[str, Any]) -> None:
        """Store the figures that a run's owner is shown from now on."""
        session.add(
            DisclosedScore(
                run=record.number,
                month=record.month,
                track=record.track,
                submitter=record.submitter,
                figures=dict(figures),
            )
        )
