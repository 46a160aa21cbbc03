"""Services behind the routes, and a dependency for each: a route is given the ones that it uses."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import Engine
from sqlmodel import Session, text

from quarterturn.accounts.store import Accounts as AccountStore
from quarterturn.accounts.store import Caller
from quarterturn.display_names.store import DisplayNames as DisplayNameStore
from quarterturn.month.turn_calendar import TurnCalendar
from quarterturn.notices.outbox import Outbox as NoticeOutbox
from quarterturn.public_view import PublicViewWriter
from quarterturn.runners.service import RunnerService
from quarterturn.runs.measures import RunMeasures as RunMeasuresService
from quarterturn.submissions.service import OwnerView, SubmissionService
from quarterturn.submissions.store.queue import Executor as JobExecutor
from quarterturn.submissions.store.queue import Queue as JobQueue
from quarterturn.submissions.store.requests import Submissions as SubmissionStore
from quarterturn.submissions.traces import Traces as TraceService
from rotation.findings.store import Findings as FindingStore
from rotation.month.store import MonthStore
from vault.ledger.write.log_files import LogFiles

VIEW_CHECK_INTERVAL_SECONDS = 60.0  # between two comparisons of the public view with the rows


class ServiceHealth:
    """Checks what the service stands on.

    Args:
        engine: the database.
        log: the public log's writer.
        view: the public view.
        clock: seconds that only grow.
        home: the folder whose disk must not fill up.
        runners_alive: counts the runners that were heard of lately; None where no runner registers.
    """

    def __init__(
        self,
        engine: Engine,
        log: LogFiles,
        view: PublicViewWriter,
        clock: Callable[[], float] = time.monotonic,
        *,
        home: Path,
        runners_alive: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._engine, self._log, self._view, self._clock = engine, log, view, clock
        self._home, self.runners_alive = home, runners_alive
        self._looked_at: float | None = None
        self._behind, self._lock = False, threading.Lock()

    def require(self) -> None:
        """Check that the database and the log can be used.

        Raises:
            VaultError, OSError: one of them cannot.
        """
        with Session(self._engine) as session:
            session.connection().execute(text("SELECT 1"))
        self._log.checkpoint()

    def is_view_behind(self) -> bool:
        """Whether the public view is not what the rows say, as of the last minute; anybody may ask at any rate."""
        with self._lock:
            if self._looked_at is None or self._clock() - self._looked_at > VIEW_CHECK_INTERVAL_SECONDS:
                self._looked_at, self._behind = self._clock(), bool(self._view.behind())
            return self._behind

    def free_bytes(self) -> int:
        """Return how many bytes are free on the home's disk."""
        return shutil.disk_usage(self._home).free

    @property
    def leaves(self) -> int:
        """How many leaves are under the signed head."""
        return self._log.size


@dataclass(frozen=True, slots=True)
class HttpServices:
    """What the routes use, by the names of their parameters' types below."""

    caller: Callable[[str], Caller | None]
    accounts: AccountStore
    display_names: DisplayNameStore
    public_view: PublicViewWriter
    executor: JobExecutor
    queue: JobQueue
    submissions: SubmissionStore
    submitting: SubmissionService
    owner_view: OwnerView
    traces: TraceService
    run_measures: RunMeasuresService
    findings: FindingStore
    months: MonthStore
    calendar: TurnCalendar
    outbox: NoticeOutbox
    runners: RunnerService
    health: ServiceHealth


def services(request: Request) -> HttpServices:
    """Return all of them, to what is no route."""
    given: HttpServices = request.app.state.services
    return given


def _the(name: str) -> Callable[[Request], Awaitable[Any]]:
    async def give(request: Request) -> Any:
        return getattr(services(request), name)

    return give


Accounts = Annotated[AccountStore, Depends(_the("accounts"))]
DisplayNames = Annotated[DisplayNameStore, Depends(_the("display_names"))]
PublicFiles = Annotated[PublicViewWriter, Depends(_the("public_view"))]
Executor = Annotated[JobExecutor, Depends(_the("executor"))]
Queue = Annotated[JobQueue, Depends(_the("queue"))]
Submissions = Annotated[SubmissionStore, Depends(_the("submissions"))]
Submitting = Annotated[SubmissionService, Depends(_the("submitting"))]
View = Annotated[OwnerView, Depends(_the("owner_view"))]
Traces = Annotated[TraceService, Depends(_the("traces"))]
RunMeasures = Annotated[RunMeasuresService, Depends(_the("run_measures"))]
Findings = Annotated[FindingStore, Depends(_the("findings"))]
Months = Annotated[MonthStore, Depends(_the("months"))]
Calendar = Annotated[TurnCalendar, Depends(_the("calendar"))]
Outbox = Annotated[NoticeOutbox, Depends(_the("outbox"))]
Runners = Annotated[RunnerService, Depends(_the("runners"))]
Health = Annotated[ServiceHealth, Depends(_the("health"))]
