"""Store of findings (detection results by month) and of their reviews by people.

1. A finding is identified by its kind, its subject and its month. Computing it again changes its figures, never its
   number or its reviews.
2. A finding whose status is `review` opens a review, once. An explained finding stays explained; the same subject in
   another month is another finding.
3. Nothing is ever deleted. A finding that is no longer tested becomes clean, without a p-value.
4. A scan that read fewer runs than the one before it writes nothing, since two processes may scan at once. The tests of
   a month that a scan did not test again stay as they are.
5. A finding changes no score. Only people confirm or explain one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Engine
from sqlmodel import Session, col, select

from rotation.calendar import Month
from rotation.errors import Malformed, NotFound
from rotation.findings.tables import FindingEvidenceRow, FindingReviewRow, FindingRow, ScanRow
from vault.database import transaction

Status = Literal["clean", "watching", "review"]
State = Literal["open", "explained", "confirmed"]
WATCHING, REVIEW = 0.05, 0.01
WHO = "detectors"
TESTED = ("leak", "copy", "family", "task", "echo", "group")
"""The kinds that have a p-value, in the order in which they are shown."""
OF_TASKS = ("exposure", "task")  # the kinds whose subject is a task, which may be withdrawn
LONGEST_NOTE = 500
_FIGURES = ("p_value", "p_adj", "q", "effect", "low", "high")


@dataclass(frozen=True, slots=True)
class NewFinding:
    """A finding as a scan computed it, before it is stored: one subject in one month.

    Attributes:
        kind: `leak`, `copy`, `family`, `task`, `echo`; or, without a p-value, `exposure`, `unknown`, `unclear`,
            `verdict`, `replay`.
        subject: a submitter, two of them (`A|B`), a template's tag, a task's id, or a run and a task (`RUN/TASK`).
        month: the month of the rotation.
        p_value: the p-value of the test.
        p_adj: the p-value after Holm's correction, within kind and month.
        q: the p-value after Benjamini and Hochberg's correction, over all kinds of the month.
        effect: the effect size, in the kind's own unit; None if it cannot be estimated.
        low, high: the 95 % interval of the effect, if there is one.
        detail: what was counted, in a few words.
    """

    kind: str
    subject: str
    month: Month
    p_value: float | None = None
    p_adj: float | None = None
    q: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    detail: str = ""

    @property
    def status(self) -> Status:
        """The status by the adjusted p-value; a finding without one always needs a review."""
        if self.p_adj is None:
            return "review"
        return "review" if self.p_adj <= REVIEW else "watching" if self.p_adj <= WATCHING else "clean"


@dataclass(frozen=True, slots=True)
class FindingReview:
    """One entry in a finding's review: the state, who set it, when, and why."""

    state: str
    who: str
    at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A stored finding: its number, its figures (see `NewFinding`), and its review entries, the oldest first."""

    number: int
    kind: str
    subject: str
    month: Month
    status: str
    p_value: float | None
    p_adj: float | None
    q: float | None
    effect: float | None
    low: float | None
    high: float | None
    detail: str
    computed_at: datetime
    reviews: tuple[FindingReview, ...]

    @property
    def state(self) -> str | None:
        """Return the state of its review, or None if none was opened."""
        return self.reviews[-1].state if self.reviews else None


@dataclass(frozen=True, slots=True)
class PublishedEvidence:
    """A result that a finding rests on, marked for the release of its task's cohort."""

    finding: int
    run: int
    task: str


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """Summary of the newest scan of a month.

    Attributes:
        month: the month.
        at: time of the scan.
        runs: how many runs of the month it read.
        submitters: how many submitters made them.
        failed: the type of the error that ended the scan, or None.
        smallest: where too few submitters were present for a leak verdict, the smallest share of known exposed tasks
            that would be detected in one case of two; else None.
        scanned: whether the month was tested again; if not, its earlier tests stay as they are.
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

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._engine, self._clock = engine, clock

    def keep(self, scans: Sequence[ScanRecord], findings: Iterable[NewFinding]) -> None:
        """Store the results of a scan of these months."""
        now = self._clock()
        with transaction(self._engine) as session:
            stale = {scan.month for scan in scans if not _newest(session, scan)}
            tested = {scan.month for scan in scans if scan.scanned} - stale
            fresh = [finding for finding in findings if finding.month not in stale]
            months = tested | {finding.month for finding in fresh}
            known = {(row.kind, row.subject, row.month): row for row in _rows(session, months)}
            for finding in fresh:
                row = known.pop((finding.kind, finding.subject, str(finding.month)), None)
                _write(session, row, finding, now)
            for row in known.values():
                if Month.parse(row.month) in tested and row.p_value is not None:
                    _set(row, dict.fromkeys(_FIGURES) | {"status": "clean"}, now)

    def add(self, session: Session, finding: NewFinding) -> None:
        """Store a finding that did not come from a scan, with its review; idempotent."""
        query = select(FindingRow).where(
            FindingRow.kind == finding.kind,
            FindingRow.subject == finding.subject,
            FindingRow.month == str(finding.month),
        )
        _write(session, session.exec(query).one_or_none(), finding, self._clock())

    def failed(self, month: Month, error: BaseException) -> None:
        """Record that a scan failed: the type of the error, not its message, which may quote anything."""
        now = self._clock()
        with transaction(self._engine) as session:
            row = session.get(ScanRow, str(month)) or ScanRow(month=str(month), at=now)
            row.at, row.failed = now, type(error).__name__
            session.add(row)

    def review(self, number: int, state: State, *, who: str, note: str) -> Finding:
        """Add a person's entry to a finding's review.

        Raises:
            NotFound: there is no such finding.
            Malformed: the note is too long, or a state other than `open` has no reason.
        """
        if len(note) > LONGEST_NOTE or not note.isprintable():
            raise Malformed(f"a note has at most {LONGEST_NOTE} printable characters, on one line")
        if state != "open" and not note.strip():
            raise Malformed(f"the state '{state}' needs a reason for later readers of the review: give one with --note")
        with transaction(self._engine) as session:
            if session.get(FindingRow, number) is None:
                raise NotFound(f"there is no finding {number}; `quarterturn watch list --all` lists them")
            session.add(FindingReviewRow(finding=number, state=state, who=who, note=note, at=self._clock()))
        return next(finding for finding in self.all() if finding.number == number)

    def confirm(self, session: Session, subject: str, *, who: str, note: str) -> None:
        """Close every open review of a task as confirmed, with a note that says what was done."""
        now = self._clock()
        query = select(FindingRow).where(FindingRow.subject == subject, col(FindingRow.kind).in_(OF_TASKS))
        for row in session.exec(query).all():
            words = (
                select(FindingReviewRow)
                .where(FindingReviewRow.finding == row.id)
                .order_by(col(FindingReviewRow.id).desc())
            )
            newest = session.exec(words).first()
            if newest is not None and newest.state == "open":
                session.add(FindingReviewRow(finding=newest.finding, state="confirmed", who=who, note=note, at=now))

    def all(self, month: Month | None = None) -> list[Finding]:
        """List the findings of a month, or all: the oldest month first, within a month the most urgent first."""
        query = select(FindingRow)
        if month is not None:
            query = query.where(FindingRow.month == str(month))
        with Session(self._engine) as session:
            words: dict[int, list[FindingReview]] = {}
            for row in session.exec(select(FindingReviewRow).order_by(col(FindingReviewRow.id))).all():
                words.setdefault(row.finding, []).append(FindingReview(row.state, row.who, row.at, row.note))
            findings = [_finding(row, words.get(row.id or 0, [])) for row in session.exec(query).all()]
        return sorted(findings, key=_order)

    def get(self, number: int) -> Finding:
        """Return a finding.

        Raises:
            NotFound: there is no such finding.
        """
        finding = next((finding for finding in self.all() if finding.number == number), None)
        if finding is None:
            raise NotFound(f"there is no finding {number}; `quarterturn watch list --all` lists them")
        return finding

    def publish_evidence(self, session: Session, evidence: PublishedEvidence, *, who: str) -> None:
        """Mark the evidence of a finding for the release of its task's cohort; idempotent."""
        key = (evidence.finding, evidence.run, evidence.task)
        if session.get(FindingEvidenceRow, key) is None:
            finding, run, task = key
            session.add(FindingEvidenceRow(finding=finding, run=run, task=task, who=who, at=self._clock()))

    def published_evidence(self) -> list[PublishedEvidence]:
        """List what was marked for a release, in the order of findings, runs and tasks."""
        table = FindingEvidenceRow
        query = select(table).order_by(col(table.finding), col(table.run), col(table.task))
        with Session(self._engine) as session:
            return [PublishedEvidence(row.finding, row.run, row.task) for row in session.exec(query).all()]

    def scans(self) -> list[ScanRecord]:
        """List the newest scan of each month."""
        with Session(self._engine) as session:
            rows = session.exec(select(ScanRow).order_by(col(ScanRow.month))).all()
            return [
                ScanRecord(Month.parse(row.month), row.at, row.runs, row.submitters, row.failed, row.smallest)
                for row in rows
            ]


def counts_by_kind(findings: Collection[Finding]) -> dict[str, dict[str, int]]:
    """Count findings by kind and status without naming anybody, for public display."""
    counted: dict[str, dict[str, int]] = {}
    for finding in findings:
        by_status = counted.setdefault(finding.kind, {"clean": 0, "watching": 0, "review": 0})
        by_status[finding.status] += 1
    return dict(sorted(counted.items()))


def _order(finding: Finding) -> tuple[Month, int, float, str, str]:
    rank = {"review": 0, "watching": 1, "clean": 2}[finding.status]
    return (finding.month, rank, 2.0 if finding.p_adj is None else finding.p_adj, finding.kind, finding.subject)


def _newest(session: Session, scan: ScanRecord) -> bool:
    """Store a scan's summary, unless the stored one read more runs; say whether it was stored."""
    row = session.get(ScanRow, str(scan.month)) or ScanRow(month=str(scan.month), at=scan.at)
    if row.runs > scan.runs:
        return False
    row.at, row.runs, row.submitters, row.failed = scan.at, scan.runs, scan.submitters, scan.failed
    if scan.scanned:
        row.smallest = scan.smallest
    session.add(row)
    return True


def _rows(session: Session, months: Collection[Month]) -> Sequence[FindingRow]:
    return session.exec(select(FindingRow).where(col(FindingRow.month).in_(map(str, months)))).all()


def _write(session: Session, row: FindingRow | None, finding: NewFinding, now: datetime) -> None:
    """Store a finding's figures if they changed, and open its review if it needs one and has none."""
    names = ("status", *_FIGURES, "detail")
    figures = {name: getattr(finding, name) for name in names}
    if row is None:
        row = FindingRow(
            kind=finding.kind, subject=finding.subject, month=str(finding.month), computed_at=now, **figures
        )
        session.add(row)
        session.flush()
    elif any(getattr(row, name) != value for name, value in figures.items()):
        _set(row, figures, now)
    if finding.status != "review":
        return
    if session.exec(select(FindingReviewRow).where(FindingReviewRow.finding == row.id)).first() is None:
        session.add(FindingReviewRow(finding=row.id or 0, state="open", who=WHO, at=now))


def _set(row: FindingRow, figures: Mapping[str, Any], now: datetime) -> None:
    for name, value in {**figures, "computed_at": now}.items():
        setattr(row, name, value)


def _finding(row: FindingRow, words: Sequence[FindingReview]) -> Finding:
    plain = ("kind", "subject", "status", *_FIGURES, "detail", "computed_at")
    columns = {name: getattr(row, name) for name in plain}
    return Finding(number=row.id or 0, month=Month.parse(row.month), reviews=tuple(words), **columns)
