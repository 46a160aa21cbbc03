"""Exposure counts: which submitter was served which task, when, through which channel, how often; and the limits.

A channel is a box (`docker`, `bwrap`), whose tasks nobody outside reads; `endpoint`, whose owner reads them; or
`upstream:NAME`, the provider of a model that an agent in a box may call, who reads along. Every serving counts,
including retries, and is recorded before it is made. Nothing here withdraws a task: a task over a limit is proposed for
withdrawal, and a person decides.

There are two limits:

- *servings to one submitter*. A private run shows its owner at most 97 bits about 200 tasks
  (`docs/reference/covert-channels.md`), half a bit per task, and a goal has about a hundred: after some 200 servings an
  agent could have leaked all of it to its owner, and well before that it is proposed. Counted per task.
- *readers* outside the sandbox. None of them can be made to forget, and each may keep or train on what it was sent.
  Counted per skeleton, whose tasks give each other away.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, SQLColumnExpression, exists, func, update
from sqlmodel import Session, col, select

from rotation.exposure.tables import ExposureRow
from rotation.exposure.tracks import ENDPOINT
from sandbox.runs.store import RunRecord

UPSTREAM = "upstream:"


@dataclass(frozen=True, slots=True)
class Serving:
    """The servings of one task to one run through one channel.

    Attributes:
        task: the task's id.
        skeleton: its skeleton's tag.
        run: the run's number.
        month: the run's month.
        submitter: the run's submitter.
        channel: a box's name, `endpoint`, or `upstream:NAME`.
        times: how often, retries included.
        first_at: time of the first serving.
        last_at: time of the last serving.
    """

    task: str
    skeleton: str
    run: int
    month: str
    submitter: str
    channel: str
    times: int
    first_at: datetime
    last_at: datetime

    @property
    def reader(self) -> str | None:
        """Name the party that read the task outside the sandbox, or None."""
        if self.channel == ENDPOINT.channel:
            return f"{self.channel}:{self.submitter}"
        return self.channel if self.along else None

    @property
    def along(self) -> bool:
        """Say whether this row is a model provider that read along; its servings are counted under the box already."""
        return self.channel.startswith(UPSTREAM)


@dataclass(frozen=True, slots=True)
class MonthlyExposure:
    """One month's exposure of a task or skeleton: servings, distinct submitters, and servings by channel."""

    servings: int
    submitters: int
    channels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ExposureSummary:
    """The total exposure of a task or skeleton.

    Attributes:
        name: the task's id, or the skeleton's tag.
        servings: all servings, retries included; a model provider's reading is not counted twice.
        submitters: the number of servings to each submitter.
        readers: the parties that read it outside the sandbox, sorted by name.
        months: the exposure of each month.
    """

    name: str
    servings: int
    submitters: Mapping[str, int]
    readers: tuple[str, ...]
    months: Mapping[str, MonthlyExposure]


@dataclass(frozen=True, slots=True)
class ExposureLimits:
    """Exposure limits of a task: servings to one submitter, and readers of its skeleton (see the module)."""

    servings: int = 80
    readers: int = 5


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal to withdraw a task: the task, the month in which it was last served, and the reason."""

    task: str
    month: str
    why: str


@dataclass(frozen=True, slots=True)
class TaskServings:
    """How often one run was served one task, and the cause that allows one more serving, or None."""

    times: int
    cause: str | None

    @property
    def retries(self) -> int:
        """The number of repeated servings, including the one that `cause` allows."""
        return self.times - (self.cause is None)


class Exposures:
    """Store of exposure rows."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._engine, self._clock = engine, clock

    def expose(self, session: Session, run: RunRecord, task: str, skeleton: str, *, channel: str) -> None:
        """Count one more serving of a task to `run` through `channel`; `skeleton` is the tag of its skeleton."""
        now = self._clock()
        query = select(ExposureRow).where(
            ExposureRow.task_id == task, ExposureRow.run == run.number, ExposureRow.channel == channel
        )
        row = session.exec(query).one_or_none() or ExposureRow(
            task_id=task,
            skeleton_tag=skeleton,
            run=run.number,
            month=run.month,
            submitter=run.submitter,
            channel=channel,
            first_at=now,
            last_at=now,
        )
        row.times, row.last_at, row.cause = row.times + 1, now, None
        session.add(row)

    def allow_retry(self, session: Session, run: int, task: str, cause: str) -> None:
        """Allow one more serving of a task to a run, for a cause of the closed list."""
        rows = update(ExposureRow).where(col(ExposureRow.run) == run, col(ExposureRow.task_id) == task)
        session.exec(rows.values(cause=cause))

    def of_run(self, run: int, session: Session | None = None) -> dict[str, TaskServings]:
        """Map the tasks that a run was served to their counts; a model provider's reading is not counted twice."""
        query = select(ExposureRow).where(ExposureRow.run == run)
        with nullcontext(session) if session else Session(self._engine) as own:
            return {row.task_id: TaskServings(row.times, row.cause) for row in own.exec(query).all()}

    def served(self, session: Session, runs: Collection[int]) -> set[int]:
        """Say which of these runs were served anything."""
        query = select(ExposureRow.run).where(col(ExposureRow.run).in_(runs)).distinct()
        return set(session.exec(query).all())

    def is_served(self, run: SQLColumnExpression[int | None]) -> ColumnElement[bool]:
        """Return whether the run of a column was served anything, as an SQL condition."""
        return exists().where(col(ExposureRow.run) == run)

    def any_to(self, session: Session, submitters: Collection[str], month: str) -> bool:
        """Say whether any of these submitters was served anything in a month."""
        query = select(ExposureRow.id).where(ExposureRow.month == month, col(ExposureRow.submitter).in_(submitters))
        return session.exec(query.limit(1)).first() is not None

    def runs(self, month: str) -> list[int]:
        """List the runs of a month that were served anything, in the order of their first serving."""
        query = select(ExposureRow.run).where(ExposureRow.month == month).group_by(col(ExposureRow.run))
        with Session(self._engine) as session:
            return list(session.exec(query.order_by(func.min(ExposureRow.id))).all())

    def servings(self, task: str | None = None) -> list[Serving]:
        """List all servings, or those of one task, in the order in which they were first made."""
        row = ExposureRow
        query = select(row).order_by(col(row.id))
        if task is not None:
            query = query.where(row.task_id == task)
        with Session(self._engine) as session:
            return [_serving(serving_row) for serving_row in session.exec(query).all()]

    def of_same_skeletons(self, tasks: Collection[str]) -> list[Serving]:
        """List the servings of all tasks that share a skeleton with one of these, in the order of the first ones."""
        row = ExposureRow
        tags = select(row.skeleton_tag).where(col(row.task_id).in_(tasks))
        query = select(row).where(col(row.skeleton_tag).in_(tags)).order_by(col(row.id))
        with Session(self._engine) as session:
            return [_serving(serving_row) for serving_row in session.exec(query).all()]

    def recipients(self, tasks: Collection[str]) -> list[tuple[str, str, str]]:
        """List (task, submitter, month): who was served which of these tasks, and when; in their order."""
        row = ExposureRow
        query = select(row.task_id, row.submitter, row.month).where(col(row.task_id).in_(tasks)).distinct()
        with Session(self._engine) as session:
            return sorted(session.exec(query).all())

    def upstreams(self, runs: Collection[int]) -> dict[int, str]:
        """Name the model provider of each of these runs that has one; a claim judge's is recorded after the agents'."""
        row = ExposureRow
        query = select(row.run, row.channel).where(col(row.run).in_(runs), col(row.channel).startswith(UPSTREAM))
        query = query.group_by(col(row.run), col(row.channel)).order_by(func.min(row.id).desc())
        with Session(self._engine) as session:
            return {run: channel.removeprefix(UPSTREAM) for run, channel in session.exec(query).all()}

    def read_before(self) -> dict[str, dict[str, int]]:
        """Return the first run in which each submitter's endpoint read a skeleton: submitter -> tag -> run number."""
        row = ExposureRow
        query = (
            select(row.submitter, row.skeleton_tag, func.min(row.run))
            .where(row.channel == ENDPOINT.channel)
            .group_by(col(row.submitter), col(row.skeleton_tag))
        )
        first: defaultdict[str, dict[str, int]] = defaultdict(dict)
        with Session(self._engine) as session:
            for submitter, tag, run in session.exec(query).all():
                first[submitter][tag] = run
        return dict(first)

    def totals(self, task: str | None = None) -> list[tuple[str, str, str, int]]:
        """List (task, submitter, channel, times) over all runs, in the order in which they were first served."""
        times: Counter[tuple[str, str, str]] = Counter()
        for serving in self.servings(task):
            times[serving.task, serving.submitter, serving.channel] += serving.times
        return [(*who, count) for who, count in times.items()]


def exposure_summaries(servings: Iterable[Serving], of: Callable[[Serving], str]) -> dict[str, ExposureSummary]:
    """Sum up servings by task or skeleton: `of` gives the name that a serving counts for."""
    groups: defaultdict[str, list[Serving]] = defaultdict(list)
    for serving in servings:
        groups[of(serving)].append(serving)
    return {name: _burn(name, group) for name, group in sorted(groups.items())}


def proposals(servings: Collection[Serving], limits: ExposureLimits, staying: Collection[str]) -> list[Proposal]:
    """Return the tasks of `staying` that are over a limit, in the order of their ids."""
    tasks, skeletons = (
        exposure_summaries(servings, lambda s: s.task),
        exposure_summaries(servings, lambda s: s.skeleton),
    )
    tags = {serving.task: serving.skeleton for serving in servings}
    proposed = []
    for name in sorted(set(staying) & set(tasks)):
        why = _over(tasks[name], skeletons[tags[name]], limits)
        if why:
            proposed.append(Proposal(name, max(tasks[name].months), why))
    return proposed


def _over(task: ExposureSummary, skeleton: ExposureSummary, limits: ExposureLimits) -> str:
    submitter, times = max(task.submitters.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    reasons = []
    if times > limits.servings:
        reasons.append(f"served to {submitter} {times} times, the limit is {limits.servings}")
    if len(skeleton.readers) > limits.readers:
        reasons.append(f"its skeleton was read by {len(skeleton.readers)}, the limit is {limits.readers}")
    return "; ".join(reasons)


def _burn(name: str, group: Collection[Serving]) -> ExposureSummary:
    by_month: defaultdict[str, list[Serving]] = defaultdict(list)
    for serving in group:
        by_month[serving.month].append(serving)
    return ExposureSummary(
        name=name,
        servings=sum(s.times for s in group if not s.along),
        submitters=_count((s.submitter, s.times) for s in group if not s.along),
        readers=tuple(sorted({s.reader for s in group if s.reader is not None})),
        months={month: _rate(served) for month, served in sorted(by_month.items())},
    )


def _rate(group: Collection[Serving]) -> MonthlyExposure:
    return MonthlyExposure(
        servings=sum(s.times for s in group if not s.along),
        submitters=len({s.submitter for s in group}),
        channels=_count((s.channel, s.times) for s in group),
    )


def _count(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for name, times in pairs:
        counted[name] += times
    return dict(sorted(counted.items()))


def _serving(row: ExposureRow) -> Serving:
    columns = ("run", "month", "submitter", "channel", "times", "first_at", "last_at")
    return Serving(task=row.task_id, skeleton=row.skeleton_tag, **{name: getattr(row, name) for name in columns})
