"""Submissions through the service: accepting them, their quotas, and cancelling them.

    queued -claim-> running -finish-> done | failed
       |   ^           |
       |   '--reap-----'     (a worker died: the next attempt takes over)
       '----cancel-----'---> cancelled

1. One transaction accepts a submission and counts the quota; the row is the job, which any worker may claim.
2. Quota use is counted from the rows and stored nowhere else, so no refund can be forgotten.
3. The same `Idempotency-Key` with the same request gives the same submission; with another request it is refused.
4. Quotas are a party's: linked accounts share them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, func, or_, update
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from quarterturn.accounts.tables import AccountRow
from quarterturn.choices import SubmissionSet
from quarterturn.errors import KeyReused, Malformed, NotAllowed, NotFound, OverQuota
from quarterturn.failure_codes import CHARGED_STATES, charged
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.fair_rounds import assign_round
from quarterturn.submissions.store.tables import SubmissionRow
from rotation.exposure.store import Exposures
from sandbox.endpoint.address import parse as parse_url
from sandbox.errors import SandboxError
from sandbox.image_reference import ImageReference
from sandbox.runs import submission as submissions
from vault.database import transaction

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
UNFINISHED = ("queued", "running")
MAX_REFERENCE_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """A request to run an agent.

    Attributes:
        tasks: the dev set, the private one, or one dev task as a check.
        image: a container image, or None.
        endpoint: the URL of a hosted agent, or None.
        model: a language model of the settings that its agents may ask, or None.
        counts: whether this run is played before the party's other private runs that wait, so that it counts.

    Raises:
        Malformed: it names not exactly one agent, or one that cannot be.
        Refused: its port belongs to another protocol. Which address it has is looked at when a task is sent there.
    """

    tasks: SubmissionSet
    image: str | None = None
    endpoint: str | None = field(default=None, repr=False)
    model: str | None = None
    counts: bool = False

    def __post_init__(self) -> None:
        """Refuse what could never be run."""
        if (self.image is None) == (self.endpoint is None):
            raise Malformed("name one of image and endpoint")
        if len(self.reference) > MAX_REFERENCE_CHARACTERS:
            raise Malformed(f"an image or an endpoint has a name of at most {MAX_REFERENCE_CHARACTERS} characters")
        if self.image is not None:
            ImageReference.parse(self.image)
        elif parse_url(self.reference).scheme != "https":
            raise Malformed("an endpoint is reached over https: a task is never sent in the clear")
        if self.counts and self.tasks != "private":
            raise Malformed("only a private run can be named to count")

    @property
    def reference(self) -> str:
        """The image or the URL."""
        return self.image if self.image is not None else self.endpoint or ""

    def digest(self) -> str:
        """Return the SHA-256 that tells requests apart."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """A submission as its row has it; `run` is the number of its private run once that was opened.

    `failed_attempts` says how often its worker fell silent, or a mistake of ours ended an attempt; `served`, whether
    that run was served a task.
    """

    number: int
    id: str
    account: str
    tasks: SubmissionSet
    kind: str
    reference: str = field(repr=False)
    model: str | None
    designated: bool
    month: str
    state: str
    code: str | None
    attempt: int
    failed_attempts: int
    not_before: datetime | None
    run: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    served: bool

    @property
    def charged(self) -> bool:
        """Whether it counts against a quota."""
        started = self.tasks != "private" and self.started_at is not None
        return charged(self.state, self.code, served=self.served, started=started)


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota: its limit, its use, and when it resets (None: as submissions end)."""

    limit: int
    used: int
    until: datetime | None

    @property
    def left(self) -> int:
        """How much may still be used."""
        return max(0, self.limit - self.used)


class Submissions:
    """The submissions of one home.

    Args:
        engine: from `vault.database.open_engine`.
        exposures: which runs were served something.
        limits: from the settings.
        clock: the present moment, with its time zone.
        draw: gives a character of those that it is given.
    """

    def __init__(
        self,
        engine: Engine,
        exposures: Exposures,
        limits: ServiceSettings,
        clock: Callable[[], datetime],
        draw: Callable[[str], str] = secrets.choice,
    ) -> None:
        self._engine, self._exposures, self._limits, self._clock, self._draw = engine, exposures, limits, clock, draw

    def take(
        self,
        account: str,
        wish: SubmissionRequest,
        *,
        month: str,
        idempotency_key: str | None = None,
    ) -> tuple[SubmissionRecord, bool]:
        """Accept a submission, and say whether it is a new one.

        Args:
            account: whose it is.
            wish: what is asked for.
            month: the benchmark month that is live; only private runs are bound to it.
            idempotency_key: the Idempotency-Key, or None.

        Raises:
            OverQuota: the message says which, and when there is more.
            NotAllowed: a private run of the party has begun this month, so another one can no longer be named.
            KeyReused: the key was used before with another wish.
        """
        key = hashlib.sha256(idempotency_key.encode()).hexdigest() if idempotency_key is not None else None
        with transaction(self._engine) as session:
            if key is not None and (known := _known(session, account, key)):
                if known.request_digest != wish.digest():
                    message = "this Idempotency-Key was used with a different request; send a new key"
                    raise KeyReused(message, field="Idempotency-Key")
                return self._submitted(session, known), False
            party = _party(session, account)
            self._require_quota(session, party, wish.tasks, month)
            if wish.tasks == "private":
                self._require_room(session, month)
            if wish.counts:
                self._require_unbegun(session, party, month)
            row = SubmissionRow(
                id="s-" + "".join(self._draw(_ALPHABET) for _ in range(16)),
                account=account,
                tasks=wish.tasks,
                kind="image" if wish.image is not None else "endpoint",
                reference=wish.reference,
                model=wish.model,
                designated=wish.counts,
                month=month,
                state="queued",
                idempotency_key=key,
                request_digest=wish.digest(),
                created_at=self._now(),
            )
            assign_round(session, row, party)
            session.add(row)
            session.flush()
            return self._submitted(session, row), True

    def get(self, name: str, account: str | None = None) -> SubmissionRecord:
        """Return a submission; with an account, only one of its own.

        Raises:
            NotFound: there is none, or it is somebody else's: nobody can tell which.
        """
        with Session(self._engine) as session:
            row = session.exec(select(SubmissionRow).where(SubmissionRow.id == name)).one_or_none()
            if row is None or account not in (None, row.account):
                raise NotFound("there is no such submission")
            return self._submitted(session, row)

    def some(self, names: Collection[str]) -> Sequence[SubmissionRecord]:
        """Return those of these names that there are."""
        query = select(SubmissionRow).where(col(SubmissionRow.id).in_(names))
        with Session(self._engine) as session:
            return self._all(session, query)

    def of(self, account: str, *, after: int | None = None, limit: int = 50) -> Sequence[SubmissionRecord]:
        """List an account's submissions, the newest first, from those before the number `after` on."""
        query = select(SubmissionRow).where(SubmissionRow.account == account)
        if after is not None:
            query = query.where(col(SubmissionRow.number) < after)
        with Session(self._engine) as session:
            return self._all(session, query.order_by(col(SubmissionRow.number).desc()).limit(limit))

    def agents(self, account: str) -> frozenset[str]:
        """Name the agents that an account has submitted, as a leaderboard names them; versions share a name."""
        query = select(SubmissionRow.kind, SubmissionRow.reference).where(SubmissionRow.account == account).distinct()
        with Session(self._engine) as session:
            rows = session.exec(query).all()
        names = set()
        for kind, reference in rows:
            with suppress(SandboxError):  # a name of before its grammar was checked was never run
                names.add(_agent_name(kind, reference))
        return frozenset(names)

    def unfinished(self) -> Sequence[SubmissionRecord]:
        """List all that waits or runs, the oldest first."""
        query = select(SubmissionRow).where(col(SubmissionRow.state).in_(UNFINISHED))
        with Session(self._engine) as session:
            return self._all(session, query.order_by(col(SubmissionRow.number)))

    def count_running(self, account: str) -> int:
        """Count the running submissions of an account's party."""
        party = select(AccountRow.party).where(AccountRow.name == account).scalar_subquery()
        running = select(func.count()).select_from(SubmissionRow).join(AccountRow)
        with Session(self._engine) as session:
            return session.exec(running.where(AccountRow.party == party, SubmissionRow.state == "running")).one()

    def played(self) -> Sequence[SubmissionRecord]:
        """List the submissions on the private set that have a run, the oldest first."""
        query = select(SubmissionRow).where(
            SubmissionRow.tasks == "private",
            col(SubmissionRow.run).is_not(None),
        )
        with Session(self._engine) as session:
            return self._all(session, query.order_by(col(SubmissionRow.number)))

    def cancel(self, name: str, account: str) -> SubmissionRecord:
        """Cancel a submission; it is refunded if it was served no private task, and stopped if it runs.

        Raises:
            NotFound: there is none of this account.
            NotAllowed: it has ended.
        """
        self.get(name, account)
        change = update(SubmissionRow).where(col(SubmissionRow.id) == name, col(SubmissionRow.state).in_(UNFINISHED))
        with transaction(self._engine) as session:
            ended = {"state": "cancelled", "code": "cancelled", "ended_at": self._now(), "lease_until": None}
            if session.exec(change.values(**ended)).rowcount != 1:
                state = self.get(name, account).state
                raise NotAllowed(
                    f"submission {name} has already ended ({state})",
                    detail=f"This submission has already ended ({state}), so it cannot be cancelled. Nothing was "
                    "changed.",
                    state=state,
                    expected="queued or running",
                )
        return self.get(name, account)

    def quotas(self, account: str, month: str) -> dict[str, Quota]:
        """Return the use and the rest of each quota, `private`, `dev`, `check` and `waiting`."""
        with Session(self._engine) as session:
            return self._quotas(session, _party(session, account), month)

    def _quotas(self, session: Session, party: Sequence[str], month: str) -> dict[str, Quota]:
        limits, now = self._limits, self._now()
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        query = select(SubmissionRow).where(col(SubmissionRow.account).in_(party))
        of_month = query.where(SubmissionRow.month == month, SubmissionRow.tasks == "private")
        of_today = query.where(SubmissionRow.created_at >= today)
        used = {"private": 0, "dev": 0, "check": 0}
        for submission in self._all(session, of_month):
            used["private"] += submission.charged
        for submission in self._all(session, of_today):
            used[submission.tasks] += submission.tasks != "private" and submission.charged
        waiting = session.exec(
            select(func.count())
            .select_from(SubmissionRow)
            .where(col(SubmissionRow.account).in_(party), col(SubmissionRow.state).in_(UNFINISHED))
        ).one()
        tomorrow = today + timedelta(days=1)
        return {
            "private": Quota(limits.private_per_month, used["private"], _end_of(month)),
            "dev": Quota(limits.dev_per_day, used["dev"], tomorrow),
            "check": Quota(limits.checks_per_day, used["check"], tomorrow),
            "waiting": Quota(limits.waiting, waiting, None),
        }

    def _require_room(self, session: Session, month: str) -> None:
        """Refuse a private run beyond the limit of all parties together."""
        limit = self._limits.private_in_all
        row = SubmissionRow
        is_charged = or_(col(row.state).in_(CHARGED_STATES), self._exposures.is_served(col(row.run)))
        of_month = select(func.count()).select_from(row).where(row.month == month, row.tasks == "private", is_charged)
        if session.exec(of_month).one() >= limit:
            until = _end_of(month)
            detail = f"All {limit} private runs of this month, shared by all parties, are used. "
            raise OverQuota(
                f"all {limit} private runs of {month}, shared by all parties, are used; the limit resets on "
                f"{until:%Y-%m-%d} UTC",
                detail=f"{detail}The limit resets at {until.isoformat()}.",
                limit=_limit("private_in_all", limit, until),
            )

    def _require_quota(self, session: Session, party: Sequence[str], tasks: str, month: str) -> None:
        quotas = self._quotas(session, party, month)
        for name in (tasks, "waiting"):
            if quotas[name].left:
                continue
            limit, until = quotas[name].limit, quotas[name].until
            more = "wait until one of your submissions has ended"
            detail = f"{limit} of your submissions wait or run, as many as may. Wait until one ends, or cancel one."
            if until:
                more = f"it resets on {until:%Y-%m-%d} UTC"
                detail = f"All {limit} submissions of the quota '{name}' are used. It resets at {until.isoformat()}."
            message = f"all {limit} of the quota '{name}' are used; {more}"
            raise OverQuota(message, detail=detail, limit=_limit(name, limit, until))

    def _require_unbegun(self, session: Session, party: Sequence[str], month: str) -> None:
        """Refuse to name a run once another one of the party was served a task, or may be any moment."""
        of_month = select(SubmissionRow).where(
            col(SubmissionRow.account).in_(party), SubmissionRow.month == month, SubmissionRow.tasks == "private"
        )
        begun = of_month.where(or_(col(SubmissionRow.run).is_not(None), col(SubmissionRow.state) == "running"))
        if session.exec(begun).first() is not None or self._exposures.any_to(session, party, month):
            raise NotAllowed(
                "a private run of yours has begun this month already, so the first one counts",
                detail="A private run of yours has begun this month, and the first one counts. Submit without "
                "`counts`.",
                field="counts",
                given=True,
                expected="false",
                state="run-begun",
            )

    def _submitted(self, session: Session, row: SubmissionRow) -> SubmissionRecord:
        return self._with_servings(session, [row])[0]

    def _all(self, session: Session, query: SelectOfScalar[SubmissionRow]) -> list[SubmissionRecord]:
        return self._with_servings(session, session.exec(query).all())

    def _with_servings(self, session: Session, rows: Sequence[SubmissionRow]) -> list[SubmissionRecord]:
        served = self._exposures.served(session, [row.run for row in rows if row.run is not None])
        columns = SubmissionRecord.__dataclass_fields__.keys() - {"served"}
        return [
            SubmissionRecord(**{name: getattr(row, name) for name in columns}, served=row.run in served) for row in rows
        ]

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _party(session: Session, account: str) -> Sequence[str]:
    """Return the accounts that share their quotas with this one, and hold them against others that submit now."""
    row = session.get(AccountRow, account)
    if row is None:
        raise NotFound(f"there is no account '{account}'")
    query = select(AccountRow).where(AccountRow.party == row.party).with_for_update()
    return [member.name for member in session.exec(query).all()]


def _agent_name(kind: str, reference: str) -> str:
    if kind == "image":
        return submissions.image_name(ImageReference.parse(reference))
    return submissions.endpoint_name(parse_url(reference))


def _known(session: Session, account: str, key: str) -> SubmissionRow | None:
    query = select(SubmissionRow).where(SubmissionRow.account == account, SubmissionRow.idempotency_key == key)
    return session.exec(query).one_or_none()


def _limit(name: str, value: int, until: datetime | None) -> dict[str, Any]:
    """Describe a used-up quota as problem documents do."""
    limit = {"name": name, "value": value, "unit": "submissions"}
    return limit | {"resets_at": until.isoformat()} if until else limit


def _end_of(month: str) -> datetime:
    year, number = map(int, month.split("-"))
    return datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
