"""Store of runners and of the servings that they started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Engine, update
from sqlmodel import Session, col, select

from quarterturn.accounts.store import Accounts
from quarterturn.errors import NotFound, Refused
from quarterturn.runners.tables import RunnerRow, ServingRow
from vault.database import join_or_begin, transaction

ALIVE_SECONDS = 60.0
"""A runner that was heard of within these seconds is alive; it says so every fifteen."""

SEEN_SECONDS = 10.0
"""How exactly it is recorded when a runner was heard of; anything finer would write a row for each request."""

Failure = Literal["unbegun", "lost"]
ServingState = Literal["started", "handed-in", Failure, "closed"]


@dataclass(frozen=True, slots=True)
class RunnerRecord:
    """A runner.

    Attributes:
        token: the number of its token.
        name: chosen by the operator.
        box: the box in which it plays, or None until it has registered.
        run_class: the class of runs that it plays, or None likewise.
        places: how many servings it plays at a time.
        programs: the digest of the servers and locks that it has, or None likewise.
        seen_at: when it was last heard of.
    """

    token: int
    name: str
    box: str | None
    run_class: str | None
    places: int
    programs: str | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class ServingRecord:
    """A serving that a runner started.

    Attributes:
        handle: its opaque name.
        run: the number of its official run, or None.
        task: the id of its task.
        runner: the number of the runner's token.
        state: `started`; `handed-in` once what was left has arrived; `unbegun` where its agent was never let go, and
            `lost` where it was and nothing is left; `closed` when nothing of it is taken any more.
        started_at: when its key was handed to the runner.
        due: until when what it leaves is waited for.
    """

    handle: str
    run: int | None
    task: str
    runner: int
    state: ServingState
    started_at: datetime
    due: datetime


class Runners:
    """The runners of one home, and the servings that they started.

    Args:
        engine: from `vault.database.open_engine`.
        accounts: what makes and revokes their tokens.
        clock: the present moment, with its time zone.
    """

    def __init__(self, engine: Engine, accounts: Accounts, clock: Callable[[], datetime]) -> None:
        self._engine, self._accounts, self._clock = engine, accounts, clock

    def add(self, name: str, days: int) -> str:
        """Make a runner, and return its token, which is shown this once.

        Raises:
            Malformed: the name is no pseudonym, or the time is too long.
            Refused: there is or was a runner of this name.
        """
        with transaction(self._engine) as session:
            if session.exec(select(RunnerRow).where(RunnerRow.name == name)).first() is not None:
                raise Refused(f"there is or was a runner '{name}': choose another name")
            text, token = self._accounts.create(name, "machine", days=days, session=session)
            session.add(RunnerRow(token=token.id, name=name))
        return text

    def renew(self, name: str, days: int) -> str:
        """Return a new token of the runner of this name, which keeps its servings; it is made if there is none."""
        with Session(self._engine) as session:
            row = session.exec(select(RunnerRow).where(RunnerRow.name == name)).one_or_none()
        return self._accounts.renew(row.token, days) if row else self.add(name, days)

    def added_at(self, name: str) -> datetime:
        """Return when a runner was added, whether it was revoked since or not.

        Raises:
            NotFound: there is no runner of this name.
        """
        with Session(self._engine) as session:
            token_id = _row_named(session, name).token
        return next(token.created_at for token in self._accounts.list() if token.id == token_id)

    def name(self, token: int) -> str:
        """Return the name of the runner of this token, or an empty one where its row is gone."""
        with Session(self._engine) as session:
            row = session.get(RunnerRow, token)
            return row.name if row is not None else ""

    def list(self) -> Sequence[RunnerRecord]:
        """List the runners that were not revoked, by name."""
        revoked = {token.id for token in self._accounts.list() if token.revoked_at is not None}
        with Session(self._engine) as session:
            rows = session.exec(select(RunnerRow).order_by(RunnerRow.name)).all()
            return [_runner(row) for row in rows if row.token not in revoked]

    def register(self, token: int, *, box: str, run_class: str, places: int, programs: str) -> None:
        """Record what a runner says about itself, and that it is alive."""
        with transaction(self._engine) as session:
            row = session.get(RunnerRow, token)
            if row is None:
                raise NotFound(f"token {token} is no runner's; make one with `quarterturn runner add NAME`")
            row.box, row.run_class, row.places, row.programs = box, run_class, places, programs
            row.seen_at = self._now()

    def record_contact(self, token: int) -> RunnerRecord | None:
        """Record that a runner is alive, to some seconds, and return it; None where the token is no runner's."""
        now = self._now()
        with Session(self._engine) as session:
            row = session.get(RunnerRow, token)
            runner = _runner(row) if row is not None else None
        if runner is not None and (runner.seen_at is None or now - runner.seen_at > timedelta(seconds=SEEN_SECONDS)):
            with transaction(self._engine) as session:
                session.exec(update(RunnerRow).where(col(RunnerRow.token) == token).values(seen_at=now))
        return runner

    def alive(self) -> Sequence[RunnerRecord]:
        """List the registered runners that were heard of within `ALIVE_SECONDS`."""
        since = self._now() - timedelta(seconds=ALIVE_SECONDS)
        return [runner for runner in self.list() if runner.box and runner.seen_at and runner.seen_at >= since]

    def revoke(self, name: str) -> Sequence[ServingRecord]:
        """Put a runner out, close what it plays, and return every serving that it started, the oldest first.

        Raises:
            NotFound: there is no runner of this name.
        """
        with transaction(self._engine) as session:
            row = _row_named(session, name)
            token = row.token
            own, open_states = col(ServingRow.runner) == token, col(ServingRow.state) == "started"
            session.exec(update(ServingRow).where(own, open_states).values(state="closed", ended_at=self._now()))
            row.box, row.seen_at = None, None
        self._accounts.revoke(token)
        return self.servings(runner=token)

    def start(
        self, handle: str, runner: int, *, run: int | None, task: str, seconds: float, session: Session | None = None
    ) -> None:
        """Record that a serving begins on a runner, and for how many seconds what it leaves is waited for."""
        now = self._now()
        due = now + timedelta(seconds=seconds)
        row = ServingRow(handle=handle, run=run, task=task, runner=runner, state="started", started_at=now, due=due)
        with join_or_begin(self._engine, session) as own:
            own.add(row)

    def hand_in(self, handle: str, runner: int) -> bool:
        """Record that what a serving left has arrived; False where the runner may not hand it in (any more)."""
        own = (col(ServingRow.handle) == handle, col(ServingRow.runner) == runner)
        with transaction(self._engine) as session:
            change = update(ServingRow).where(*own, col(ServingRow.state) == "started")
            session.exec(change.values(state="handed-in", ended_at=self._now()))
            return session.exec(select(ServingRow).where(*own, ServingRow.state == "handed-in")).first() is not None

    def record_failure(self, handle: str, runner: int, state: Failure) -> None:
        """Record that nothing will be handed in for a serving that a runner started."""
        own = (col(ServingRow.handle) == handle, col(ServingRow.runner) == runner)
        with transaction(self._engine) as session:
            change = update(ServingRow).where(*own, col(ServingRow.state) == "started")
            session.exec(change.values(state=state, ended_at=self._now()))

    def close(self, handle: str) -> None:
        """Take nothing more for a serving."""
        with transaction(self._engine) as session:
            change = update(ServingRow).where(col(ServingRow.handle) == handle)
            session.exec(change.values(state="closed", ended_at=self._now()))

    def serving(self, handle: str) -> ServingRecord | None:
        """Return a started serving, or None."""
        with Session(self._engine) as session:
            row = session.get(ServingRow, handle)
            return _serving(row) if row is not None else None

    def outstanding(self, run: int, task: str | None = None) -> Sequence[ServingRecord]:
        """List the servings of a run, or of one task of it, of which it is not recorded yet what came of them."""
        servings = self.servings(run=run, task=task)
        return [serving for serving in servings if serving.state != "closed"]

    def servings(self, **where: int | str | None) -> Sequence[ServingRecord]:
        """List the servings of a `runner`, a `run`, or a `task`, the oldest first."""
        query = select(ServingRow).order_by(col(ServingRow.started_at), col(ServingRow.handle))
        given = {name: value for name, value in where.items() if value is not None}
        with Session(self._engine) as session:
            return [_serving(row) for row in session.exec(query.filter_by(**given)).all()]

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        return self._now()

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _row_named(session: Session, name: str) -> RunnerRow:
    row = session.exec(select(RunnerRow).where(RunnerRow.name == name)).one_or_none()
    if row is None:
        raise NotFound(f"there is no runner '{name}'; `quarterturn runner list` names them")
    return row


def _runner(row: RunnerRow) -> RunnerRecord:
    return RunnerRecord(**{name: getattr(row, name) for name in RunnerRecord.__dataclass_fields__})


def _serving(row: ServingRow) -> ServingRecord:
    return ServingRecord(**{name: getattr(row, name) for name in ServingRecord.__dataclass_fields__})
