"""Findings and their reviews: what a test came to in a month, and what people say about it.

1. A finding is known by its kind, its subject and its month. Computing it again changes its figures, never its number,
   and never a word that was said about it.
2. A finding whose status is `review` opens a review, once. What was explained stays explained until another month finds
   it again: that is another finding.
3. Nothing is ever deleted. What is tested no longer is clean, and has no p.
4. A look that took in fewer runs than the one before it writes nothing: two processes may look at once. Of a month that
   it did not test anew, the tests stand.
5. A finding takes nothing from anybody. Only people confirm or explain one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from rotation.calendar import Month
from rotation.errors import Malformed, NotFound
from rotation.findings.tables import FindingRow, LookRow, ReviewRow
from vault.database import transaction

Status = Literal["clean", "watch", "review"]
State = Literal["open", "explained", "confirmed"]
WATCH, REVIEW = 0.05, 0.01
WHO = "watch"
OF_TASKS = ("exposure", "task")  # the kinds whose subject is a task, which may be withdrawn
LONGEST_NOTE = 500


@dataclass(frozen=True, slots=True)
class Found:
    """What a look came to about one subject in one month.

    Attributes:
        kind: `leak`, `copy`, `family`, `task`; `exposure`, `unknown`, `unclear` or `verdict`, which have no p.
        subject: a submitter, two of them (`A|B`), a template's tag, a task's id, or a run and a task (`RUN/TASK`).
        month: the month of the rotation.
        p_value: of the test.
        p_adj: the same after Holm, within kind and month.
        q: after Benjamini and Hochberg, over all kinds of the month.
        detail: what was counted, in a few words.
    """

    kind: str
    subject: str
    month: Month
    p_value: float | None = None
    p_adj: float | None = None
    q: float | None = None
    detail: str = ""

    @property
    def status(self) -> Status:
        """Say how much attention it wants; what was counted, and not tested, wants a person's."""
        if self.p_adj is None:
            return "review"
        return "review" if self.p_adj <= REVIEW else "watch" if self.p_adj <= WATCH else "clean"


@dataclass(frozen=True, slots=True)
class Review:
    """One word in a review: the state, who said so, when, and why."""

    state: str
    who: str
    at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as it stands: its number, its figures (see `Found`), and its review, the oldest word first."""

    number: int
    kind: str
    subject: str
    month: Month
    status: str
    p_value: float | None
    p_adj: float | None
    q: float | None
    detail: str
    computed_at: datetime
    reviews: tuple[Review, ...]

    @property
    def state(self) -> str | None:
        """Give the state of its review, or None where none was opened."""
        return self.reviews[-1].state if self.reviews else None


@dataclass(frozen=True, slots=True)
class Look:
    """What the newest look at a month took in.

    Attributes:
        month: the month.
        at: when.
        runs: how many runs were made in it.
        submitters: by how many.
        failed: the kind of error that the look ended with, or None.
        smallest: where too few submitters were there for a verdict about leaks, the smallest share of the exposed tasks
            that one of them could have known and would be found as often as not; None where there is nothing to say.
        scanned: whether the month was tested anew; where it was not, its tests stand as they were.
    """

    month: Month
    at: datetime
    runs: int
    submitters: int
    failed: str | None
    smallest: float | None = None
    scanned: bool = True


class Findings:
    """The store of findings."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, looks: Sequence[Look], found: Iterable[Found], now: datetime) -> None:
        """Write down what a look at these months found."""
        with transaction(self._engine) as session:
            stale = {look.month for look in looks if not _newest(session, look)}
            tested = {look.month for look in looks if look.scanned} - stale
            known = {(row.kind, row.subject, row.month): row for row in _rows(session, looks)}
            for one in found:
                if one.month not in stale:
                    row = known.pop((one.kind, one.subject, str(one.month)), None)
                    _write(session, row, one, now)
            for row in known.values():
                if Month.parse(row.month) in tested and row.p_value is not None:
                    row.status, row.p_value, row.p_adj, row.q, row.computed_at = "clean", None, None, None, now

    def add(self, session: Session, one: Found, now: datetime) -> None:
        """Write down what was found otherwise than by a look, with its review; once, however often it is added."""
        here = select(FindingRow).where(
            FindingRow.kind == one.kind, FindingRow.subject == one.subject, FindingRow.month == str(one.month)
        )
        _write(session, session.exec(here).one_or_none(), one, now)

    def failed(self, month: Month, error: BaseException, now: datetime) -> None:
        """Write down that a look failed; the kind of error is kept and not its words, which may quote anything."""
        with transaction(self._engine) as session:
            row = session.get(LookRow, str(month)) or LookRow(month=str(month), at=now)
            row.at, row.failed = now, type(error).__name__
            session.add(row)

    def review(self, number: int, state: State, *, who: str, note: str, now: datetime) -> Finding:
        """Add a person's word to a finding's review.

        Raises:
            NotFound: there is no such finding.
            Malformed: the note is too long, or no reason is given for what is not left open.
        """
        if len(note) > LONGEST_NOTE or not note.isprintable():
            raise Malformed(f"a note has at most {LONGEST_NOTE} printable characters, on one line")
        if state != "open" and not note.strip():
            raise Malformed(f"why is it {state}? Say so with --note, for whoever reads the review later")
        with transaction(self._engine) as session:
            if session.get(FindingRow, number) is None:
                raise NotFound(f"there is no finding {number}; `quarterturn watch list --all` lists them")
            session.add(ReviewRow(finding=number, state=state, who=who, note=note, at=now))
        return next(one for one in self.all() if one.number == number)

    def confirm(self, session: Session, subject: str, *, who: str, note: str, now: datetime) -> None:
        """Close every open review of a task with a word that says what became of it."""
        query = select(FindingRow).where(FindingRow.subject == subject, col(FindingRow.kind).in_(OF_TASKS))
        for row in session.exec(query).all():
            words = select(ReviewRow).where(ReviewRow.finding == row.id).order_by(col(ReviewRow.id).desc())
            newest = session.exec(words).first()
            if newest is not None and newest.state == "open":
                session.add(ReviewRow(finding=newest.finding, state="confirmed", who=who, note=note, at=now))

    def all(self, month: Month | None = None) -> list[Finding]:
        """List the findings of a month, or all, the oldest month first and those that want attention before others."""
        query = select(FindingRow)
        if month is not None:
            query = query.where(FindingRow.month == str(month))
        with Session(self._engine) as session:
            words: dict[int, list[Review]] = {}
            for row in session.exec(select(ReviewRow).order_by(col(ReviewRow.id))).all():
                words.setdefault(row.finding, []).append(Review(row.state, row.who, row.at, row.note))
            found = [_finding(row, words.get(row.id or 0, [])) for row in session.exec(query).all()]
        return sorted(found, key=_order)

    def looks(self) -> list[Look]:
        """List the newest look at each month."""
        with Session(self._engine) as session:
            rows = session.exec(select(LookRow).order_by(col(LookRow.month))).all()
            return [
                Look(Month.parse(row.month), row.at, row.runs, row.submitters, row.failed, row.smallest) for row in rows
            ]


def in_sum(found: Collection[Finding]) -> dict[str, dict[str, int]]:
    """Count findings by kind and status, naming nobody: what may be shown to everybody."""
    counted: dict[str, dict[str, int]] = {}
    for one in found:
        by_status = counted.setdefault(one.kind, {"clean": 0, "watch": 0, "review": 0})
        by_status[one.status] += 1
    return dict(sorted(counted.items()))


def _order(one: Finding) -> tuple[Month, int, float, str, str]:
    rank = {"review": 0, "watch": 1, "clean": 2}[one.status]
    return (one.month, rank, 2.0 if one.p_adj is None else one.p_adj, one.kind, one.subject)


def _newest(session: Session, look: Look) -> bool:
    """Take a look's facts down, unless a later one was there before."""
    row = session.get(LookRow, str(look.month)) or LookRow(month=str(look.month), at=look.at)
    if row.runs > look.runs:
        return False
    row.at, row.runs, row.submitters, row.failed = look.at, look.runs, look.submitters, look.failed
    if look.scanned:
        row.smallest = look.smallest
    session.add(row)
    return True


def _rows(session: Session, looks: Sequence[Look]) -> Sequence[FindingRow]:
    months = [str(look.month) for look in looks]
    return session.exec(select(FindingRow).where(col(FindingRow.month).in_(months))).all()


def _write(session: Session, row: FindingRow | None, one: Found, now: datetime) -> None:
    """Write a finding's figures where they are new, and open its review where it has none and wants one."""
    figures: dict[str, Any] = {
        "status": one.status,
        "p_value": one.p_value,
        "p_adj": one.p_adj,
        "q": one.q,
        "detail": one.detail,
    }
    if row is None:
        row = FindingRow(kind=one.kind, subject=one.subject, month=str(one.month), computed_at=now, **figures)
        session.add(row)
        session.flush()
    elif any(getattr(row, name) != value for name, value in figures.items()):
        for name, value in {**figures, "computed_at": now}.items():
            setattr(row, name, value)
    opened = session.exec(select(ReviewRow).where(ReviewRow.finding == row.id)).first()
    if one.status == "review" and opened is None:
        session.add(ReviewRow(finding=row.id or 0, state="open", who=WHO, at=now))


def _finding(row: FindingRow, words: Sequence[Review]) -> Finding:
    plain = ("kind", "subject", "status", "p_value", "p_adj", "q", "detail", "computed_at")
    columns = {name: getattr(row, name) for name in plain}
    return Finding(number=row.id or 0, month=Month.parse(row.month), reviews=tuple(words), **columns)
