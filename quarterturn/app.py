"""Composition root: one open home with all its services, by concern."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn import wall_clock
from quarterturn.composition.home import OpenHome
from vault.keys.locks import Opener
from vault.keys.locks.command import Command
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.passphrase import Passphrase

if TYPE_CHECKING:
    from quarterturn.composition.auth import AuthServices
    from quarterturn.composition.benchmark import BenchmarkServices
    from quarterturn.composition.detection import DetectionServices
    from quarterturn.composition.execution import ExecutionServices
    from quarterturn.composition.keys import KeyServices
    from quarterturn.composition.log import LogServices
    from quarterturn.composition.month import MonthServices
    from quarterturn.composition.runners import RunnerServices
    from quarterturn.composition.runs import RunServices
    from quarterturn.composition.submissions import SubmissionServices
    from quarterturn.composition.tasks import TaskServices
    from quarterturn.http.app import HttpApplication
    from quarterturn.submissions.store.queue import Executor


class Application:
    """One open home, with its services; each concern is given the earlier ones that it uses.

    Args:
        home: its folder.
        passphrase: of the key ring, or None for a ring without one.
        now: the present moment, with its time zone.
        database: an address of the database that wins over the settings', or None.
        openers: what opens the key ring, in the place of a passphrase.

    Raises:
        NotFound: there is no home.
        Malformed: its settings cannot be understood.
    """

    def __init__(
        self,
        home: Path,
        passphrase: bytes | None,
        now: Callable[[], datetime] = wall_clock.now,
        database: str | None = None,
        openers: Sequence[Opener] | None = None,
    ) -> None:
        openers = openers or [FileMode() if passphrase is None else Passphrase(passphrase), Command()]
        self.home = OpenHome(home, openers, now, database)

    def close(self) -> None:
        """Let go of what was opened: the worlds of proofs, the claim judge, the signer and the database."""
        for concern in ("tasks", "keys", "log", "home"):
            if concern in self.__dict__:
                getattr(self, concern).close()

    @cached_property
    def keys(self) -> KeyServices:
        """The key ring, and what it opens."""
        from quarterturn.composition.keys import KeyServices

        return KeyServices(self.home)

    @cached_property
    def auth(self) -> AuthServices:
        """Who may do what."""
        from quarterturn.composition.auth import AuthServices

        return AuthServices(self.home)

    @cached_property
    def log(self) -> LogServices:
        """The public log."""
        from quarterturn.composition.log import LogServices

        return LogServices(self.home, self.auth)

    @cached_property
    def benchmark(self) -> BenchmarkServices:
        """The set, and what the rows say of its months."""
        from quarterturn.composition.benchmark import BenchmarkServices

        return BenchmarkServices(self.home, self.log)

    @cached_property
    def tasks(self) -> TaskServices:
        """How the home gets its tasks."""
        from quarterturn.composition.tasks import TaskServices

        return TaskServices(self.home, self.keys, self.auth, self.benchmark)

    @cached_property
    def runs(self) -> RunServices:
        """The official runs."""
        from quarterturn.composition.runs import RunServices

        return RunServices(self.home, self.keys, self.auth, self.log, self.benchmark)

    @cached_property
    def runners(self) -> RunnerServices:
        """The runners."""
        from quarterturn.composition.runners import RunnerServices

        return RunnerServices(self.home, self.auth, self.runs)

    @cached_property
    def detection(self) -> DetectionServices:
        """What looks for contamination in results."""
        from quarterturn.composition.detection import DetectionServices

        return DetectionServices(self.home, self.auth, self.benchmark, self.runs)

    @cached_property
    def submissions(self) -> SubmissionServices:
        """The submissions."""
        from quarterturn.composition.submissions import SubmissionServices

        return SubmissionServices(self.home, self.auth, self.benchmark, self.tasks, self.runs)

    @cached_property
    def execution(self) -> ExecutionServices:
        """What plays submissions."""
        from quarterturn.composition.execution import ExecutionServices

        concerns = (self.tasks, self.runs, self.runners, self.detection, self.submissions)
        return ExecutionServices(self.home, self.keys, self.benchmark, *concerns)

    @cached_property
    def month(self) -> MonthServices:
        """What happens once a month."""
        from quarterturn.composition.month import MonthServices

        concerns = (self.auth, self.log, self.benchmark, self.tasks, self.runs, self.detection, self.submissions)
        return MonthServices(self.home, self.keys, *concerns)

    def http(self, executor: Executor, clock: Callable[[], float] = time.monotonic) -> HttpApplication:
        """Return the HTTP application; while it lives, the executor works."""
        from quarterturn.http.app import create
        from quarterturn.http.dependencies.services import HttpServices, ServiceHealth
        from quarterturn.http.responses.public_log import LogView
        from quarterturn.http.responses.public_view import PublicView

        places, settings = self.home.places, self.home.settings.service
        services = HttpServices(
            caller=self.auth.caller,
            accounts=self.auth.accounts,
            display_names=self.submissions.display_names,
            public_view=self.submissions.view,
            executor=executor,
            queue=self.submissions.queue,
            submissions=self.submissions.store,
            submitting=self.submissions.service,
            owner_view=self.submissions.owner_view,
            traces=self.submissions.traces,
            run_measures=self.submissions.run_measures,
            findings=self.benchmark.findings,
            months=self.benchmark.months,
            calendar=self.benchmark.calendar,
            outbox=self.month.outbox,
            runners=self.runners.service,
            health=ServiceHealth(
                self.home.engine,
                self.log.writer,
                self.submissions.view,
                home=self.home.folder,
                runners_alive=lambda: len(self.runners.store.alive()),
            ),
        )
        view, log = PublicView(places.public), LogView(places.log, self.log.policy)
        return create(services, view, log, settings, refresh=self.execution.catch_up, clock=clock)
