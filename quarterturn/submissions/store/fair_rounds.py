"""Fair rounds: the round of the queue in which each submission is claimed, one of each party a round.

This is fair queueing by virtual time (Golestani, "A self-clocked fair queueing scheme", 1994). A row gets its round
once, when it is written, so a claim compares nothing and walks an index.

1. A party's next submission is in the round after its last one that is unfinished.
2. A party without any begins in the round that is being claimed now: it neither waits for others' backlogs nor gains
   by having been away.
3. One that is designated to count takes the place of its party's first, and each of these the place of the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func
from sqlmodel import Session, col, select

from quarterturn.submissions.store.tables import SubmissionRow


def assign_round(session: Session, row: SubmissionRow, party: Sequence[str]) -> None:
    """Set a new row's round, before it is added to the session; `party` are the accounts of its party."""
    own = col(SubmissionRow.account).in_(party)
    unfinished = own, col(SubmissionRow.state).in_(("queued", "running"))
    last = session.exec(select(func.max(SubmissionRow.fair_round)).where(*unfinished)).one()
    row.fair_round = _present_round(session) if last is None else last + 1
    if row.designated:
        later = own, SubmissionRow.state == "queued", col(SubmissionRow.designated).is_(False)
        behind = session.exec(select(SubmissionRow).where(*later).order_by(col(SubmissionRow.fair_round))).all()
        rounds = [*(other.fair_round for other in behind), row.fair_round]
        for moved, fair_round in zip([row, *behind], rounds, strict=True):
            moved.fair_round = fair_round


def _present_round(session: Session) -> int:
    """Return the round of what was claimed last, as far as it runs still; else that of what is claimed next."""
    fair_round, state = col(SubmissionRow.fair_round), col(SubmissionRow.state)
    last = session.exec(select(func.max(fair_round)).where(state == "running")).one()
    following = session.exec(select(func.min(fair_round)).where(state == "queued")).one()
    return next((number for number in (last, following) if number is not None), 0)
