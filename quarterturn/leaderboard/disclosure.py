"""Disclosure of a private run's figures while its tasks are live: rounded, and new only where they differ from noise.

Asking for figures again and again, with answers changed a little each time, would reveal the tasks by the differences.
So a later run of the same submitter, month and track is shown the figures of the one before, except where its own
differ by more than their standard error: the Ladder of Blum and Hardt (2015, https://arxiv.org/abs/1502.04585). Linked
accounts share one ladder. It works on the figures rounded to half a point: what rounding removed is not disclosed here.

Figures are disclosed in the order of the runs and once; a disclosure is a row and stays. A run whose row is missing,
because a process died between score and disclosure, gets it when its figures are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from quarterturn.leaderboard import scores
from quarterturn.leaderboard.scores import FIGURES, PARTS
from quarterturn.leaderboard.tables import DisclosedScore
from sandbox.results.score import Figure, Score
from sandbox.runs.store import RunRecord, RunState
from vault.database import transaction

if TYPE_CHECKING:
    from quarterturn.app import Application

_BOTH_SIDES = 2 * 1.959964  # from the ends of a 95 % interval to the standard error

Told = Mapping[str, Any]


def figures(house: Application, number: int) -> Told | None:
    """Give the disclosed figures of a run; None while it has not been scored."""
    record = house.runs.get(number)
    if record.state is not RunState.DONE:
        return None
    if (known := _known(house, number)) is not None:
        return known
    party = house.accounts.party(record.submitter)
    for earlier in house.runs.list(month=record.month, state=RunState.DONE):
        if earlier.number <= number and earlier.submitter in party and earlier.track == record.track:
            _tell(house, earlier, party)
    return _known(house, number)


def ladder(earlier: Told | None, fresh: Mapping[str, Score]) -> dict[str, Any]:
    """Give the figures to disclose for `fresh` after `earlier` was disclosed."""
    disclosed: dict[str, Any] = {}
    for part in PARTS:
        disclosed[part] = scores.rounded(fresh[part])
        for name in FIGURES:
            before = earlier[part][name] if earlier else None
            if before is not None and not _new(before, getattr(fresh[part], name)):
                disclosed[part][name] = before
    return disclosed


def _new(before: Mapping[str, Any], now: Figure) -> bool:
    """Say whether a figure differs from the disclosed one by more than its standard error."""
    if before["value"] is None or now.value is None or now.low is None or now.high is None:
        return True
    error = (now.high - now.low) / _BOTH_SIDES
    return abs(now.value - float(before["value"])) > error


def _known(house: Application, number: int) -> Told | None:
    with Session(house.engine) as session:
        row = session.get(DisclosedScore, number)
        return row.figures if row else None


def _tell(house: Application, record: RunRecord, party: Collection[str]) -> None:
    if _known(house, record.number) is not None:
        return
    fresh = scores.of_run(house, record)
    with suppress(IntegrityError), transaction(house.engine) as session:  # who was faster told the same
        if session.get(DisclosedScore, record.number) is not None:
            return
        before = session.exec(
            select(DisclosedScore)
            .where(
                DisclosedScore.month == record.month,
                DisclosedScore.track == record.track,
                col(DisclosedScore.submitter).in_(party),
                col(DisclosedScore.run) < record.number,
            )
            .order_by(col(DisclosedScore.run).desc())
        ).first()
        disclosed = ladder(before.figures if before else None, fresh)
        session.add(
            DisclosedScore(
                run=record.number, month=record.month, track=record.track, submitter=record.submitter, figures=disclosed
            )
        )
