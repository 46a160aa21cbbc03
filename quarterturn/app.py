"""Composition root: one open home, whose services are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from grammars.admission.store import Drafts
from grammars.language.grammar import Grammar
from grammars.language.imported import Imported
from quarterturn import migrations, settings, wall_clock
from quarterturn.accounts.accounts import Accounts, Caller
from quarterturn.approvals import approvals
from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.findings.detection import Detection, scan, smallest_visible_leak
from quarterturn.home import policies
from quarterturn.home.home import HomePaths, endpoint_sender, month_key
from quarterturn.leaderboard import public_view
from quarterturn.month.monthly_turn import MonthlyTurns
from quarterturn.month.turn_calendar import TurnCalendar
from quarterturn.month.turn_preview import TurnPreview
from quarterturn.month.withdraw_task import ApprovedWithdrawals
from quarterturn.redactor import REDACTOR
from quarterturn.settings import Settings
from quarterturn.submissions.queue import Queue
from quarterturn.submissions.requests import Submissions
from quarterturn.tasks.review import TaskReviews
from rotation.calendar import Month
from rotation.detection.scan_results import Scanner
from rotation.exposure.store import ExposureLimits, Exposures
from rotation.findings.store import Findings
from rotation.generation.generate import TaskGenerator
from rotation.generation.grammars import shipped_grammars
from rotation.generation.known_tasks import KnownTasks
from rotation.generation.replenish import Replenishment
from rotation.month.sets import SetSpec, named
from rotation.month.store import MonthStore
from rotation.runs import withdrawal
from rotation.runs.books import Books
from rotation.runs.official import OfficialRuns
from rotation.turn.attestation import Attester
from rotation.turn.turn import Plan, Rotation
from sandbox.boxes.box import Box
from sandbox.endpoint import Sender
from sandbox.isolation.run_classes import RunClass
from sandbox.runs.rejudge import JudgeAgain
from sandbox.runs.store import Runs
from sandbox.servers.registry import tool_table
from vault.database import open_engine
from vault.keys import signing
from vault.keys.locks import Opener
from vault.keys.locks.command import Command
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.passphrase import Passphrase
from vault.keys.ring import FileKeyRing
from vault.ledger.signatures.note import Signer
from vault.ledger.signatures.policy import Policy
from vault.ledger.write.append import LogWriter
from vault.ledger.write.cosigning import Witnesses
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault
from verifiers.language.catalogue import CATALOGUE

if TYPE_CHECKING:
    from quarterturn.accounts.oidc import Provider
    from quarterturn.findings.detection_report import DetectionReports
    from quarterturn.month.automatic_turn import MonthlyClock
    from quarterturn.notices.outbox import Outbox
    from rotation.generation.import_tasks import TaskImport


class Application:
    """One open home, with its services.

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
        self.places = HomePaths(home.resolve())
        self.places.require()
        self.now = now
        self.settings: Settings = settings.load(self.places.settings)
        self._database = database
        self._openers = openers or [FileMode() if passphrase is None else Passphrase(passphrase), Command()]

    @property
    def home(self) -> Path:
        """The folder."""
        return self.places.home

    @property
    def public(self) -> Path:
        """The folder that may be served to anybody."""
        return self.places.public

    def close(self) -> None:
        """Let go of the database, if it was opened."""
        if "engine" in self.__dict__:
            self.engine.dispose()

    # -- the vault ----------------------------------------------------------------------------------------------------

    @cached_property
    def ring(self) -> FileKeyRing:
        """The key ring, unlocked."""
        return FileKeyRing.open_by(self.places.ring, self._openers)

    @cached_property
    def engine(self) -> Engine:
        """The database, with its migrations applied."""
        engine = open_engine(self.places.database_url(self.settings, self._database))
        migrations.upgrade(engine)
        return engine

    @cached_property
    def vault(self) -> Vault:
        """The sealed tasks."""
        return Vault(self.engine, self.ring, self.now, seen=REDACTOR.learn)

    @cached_property
    def writer(self) -> LogWriter:
        """The public log's writer."""
        origin = self.settings.benchmark.origin
        signer = Signer(origin, signing.load(self.places.log_key, self.ring))
        former = [key for key in self.places.log_keys if key != signer.verifier]
        return LogWriter(self.places.log, self.places.head, signer, origin, former=former)

    @cached_property
    def ledger(self) -> PublicLog:
        """The rows and tiles of the log."""
        return PublicLog(self.engine, self.writer, self.now, self.witnesses)

    @cached_property
    def policy(self) -> Policy | None:
        """Who has to cosign the log's heads, and how many of them; None where the settings name nobody."""
        return policies.of(self.places, self.settings.ledger.policy)

    @cached_property
    def witnesses(self) -> Witnesses | None:
        """Those who have to cosign the log's heads, ready to be asked; None where nobody has to.

        Raises:
            Unapproved: the settings name others than the rules in force, and two maintainers have not signed for it.
        """
        approvals.in_force(self)
        if self.policy is None:
            return None
        from quarterturn.home import witnesses  # noqa: PLC0415 - a home that asks nobody loads no HTTP

        return witnesses.of(self.writer, self.policy)

    # -- grammars and sandbox -----------------------------------------------------------------------------------------

    @cached_property
    def grammars(self) -> Mapping[str, Grammar]:
        """The shipped, public grammars by server."""
        return shipped_grammars()

    @cached_property
    def imported(self) -> Imported:
        """The grammars of its own."""
        return Imported(self.vault, tool_table(), CATALOGUE)

    def drawn_grammars(self, who: str) -> Mapping[str, Grammar]:
        """Give the grammars that tasks are drawn from: the home's own where it has one, else the shipped ones."""
        return {**self.grammars, **self.imported.in_force(who=who, why="draw tasks")}

    @cached_property
    def drafts(self) -> Drafts:
        """Admissions and reviews."""
        return Drafts(self.engine, self.vault, self.now)

    @cached_property
    def runs(self) -> Runs:
        """Runs and their sealed results."""
        return Runs(self.engine, self.vault, self.now)

    def box(self, name: BoxName | None = None, run_class: RunClass = "sealed") -> Box:
        """Give the box that was asked for, else the one that the settings name, for a class of runs."""
        return choose_box(name or self.settings.run.box, self.settings.run.runtime, run_class)

    @cached_property
    def sender(self) -> Sender:
        """The signer of requests to hosted endpoints."""
        return endpoint_sender(self.places, self.ring)

    # -- rotation -----------------------------------------------------------------------------------------------------

    @cached_property
    def spec(self) -> SetSpec:
        """The set's composition."""
        return named(self.settings.benchmark.set)

    @cached_property
    def months(self) -> MonthStore:
        """Cohorts and turns."""
        return MonthStore(self.engine)

    @cached_property
    def exposures(self) -> Exposures:
        """The record of who was served which task."""
        return Exposures(self.engine)

    @cached_property
    def findings(self) -> Findings:
        """What the detectors found, and the reviews of it."""
        return Findings(self.engine)

    @cached_property
    def books(self) -> Books:
        """The stores and the log that the rotation works on."""
        return Books(
            engine=self.engine,
            vault=self.vault,
            ledger=self.ledger,
            log=self.writer,
            months=self.months,
            runs=self.runs,
            exposures=self.exposures,
            findings=self.findings,
            clock=self.now,
        )

    @cached_property
    def official(self) -> OfficialRuns:
        """Runs that are bound to the ledger."""
        return OfficialRuns(self.books)

    @cached_property
    def month_key(self) -> Ed25519PrivateKey:
        """The key that signs the result of each turn."""
        return month_key(self.places, self.ring)

    @cached_property
    def rotation(self) -> Rotation:
        """The turn."""
        return Rotation(
            self.books,
            self.spec,
            self.places.releases,
            Attester(self.month_key, self.public),
            again=lambda: JudgeAgain(cache(self._box_of_run)),
            agreed=self._agreed,
        )

    def _box_of_run(self, name: str) -> Box:
        return choose_box(cast("BoxName", name), self.settings.run.runtime)

    def _agreed(self, plan: Plan) -> None:
        approvals.require(self, "activate", *approvals.turn(plan))

    # -- tasks, detection and the month -------------------------------------------------------------------------------

    @cached_property
    def known_tasks(self) -> KnownTasks:
        """What a new draft must differ from."""
        return KnownTasks(self.vault, self.months, self.drafts, self.grammars)

    @cached_property
    def replenishment(self) -> Replenishment:
        """The supply of the next turn."""
        return Replenishment(self.vault, self.months, self.spec, self.known_tasks, self._generator)

    def _generator(self, author: str, box: Box) -> TaskGenerator:
        from sandbox.runs.prover import BoxProver  # noqa: PLC0415 - loads worlds, and only a draw needs them

        grammars, prover = self.drawn_grammars(author), BoxProver(box)
        mix, workers = self.spec.per_cohort, self.settings.run.workers
        return TaskGenerator(grammars, self.vault, self.drafts, prover, mix=mix, workers=workers)

    @cached_property
    def task_import(self) -> TaskImport:
        """The import of hand-written tasks."""
        from rotation.generation.import_tasks import TaskImport  # noqa: PLC0415 - likewise

        return TaskImport(self.vault, self.drafts, self.known_tasks)

    @cached_property
    def reviews(self) -> TaskReviews:
        """The reviews of tasks."""
        return TaskReviews(self.vault, self.drafts, partial(approvals.require, self), self.now)

    @cached_property
    def scanner(self) -> Scanner:
        """The scan of all results."""
        limits = ExposureLimits(servings=self.settings.findings.servings, readers=self.settings.findings.readers)
        return Scanner(self.books, limits, scan, smallest_visible_leak)

    @cached_property
    def detection(self) -> Detection:
        """The detector runs."""
        return Detection(self.scanner, self.findings, self.now)

    @cached_property
    def detection_reports(self) -> DetectionReports:
        """The monthly reports on findings."""
        from quarterturn.findings.detection_report import DetectionReports  # noqa: PLC0415 - loads templates

        return DetectionReports(self.runs, self.scanner, self.findings, self.settings.benchmark.origin, self.now)

    @cached_property
    def approved_withdrawals(self) -> ApprovedWithdrawals:
        """The withdrawals of tasks."""
        return ApprovedWithdrawals(
            self.vault,
            require=partial(approvals.require, self),
            withdraw=partial(withdrawal.withdraw, self.books),
            listed=partial(withdrawal.listed, self.books),
            after=partial(public_view.after, self, withdrawn=True),
        )

    @cached_property
    def turn_calendar(self) -> TurnCalendar:
        """Which turn comes next, and when."""
        first = Month.parse(self.settings.benchmark.first_month)
        return TurnCalendar(self.months, first, self.settings.clock, self.now)

    @cached_property
    def turn_preview(self) -> TurnPreview:
        """What the next turn would do, and what it lacks."""
        return TurnPreview(self.turn_calendar, self.rotation, self.vault, self.runs, self._unsigned)

    def _unsigned(self, plan: Plan) -> str | None:
        return approvals.waiting(self, "activate", *approvals.turn(plan))

    @cached_property
    def monthly_turns(self) -> MonthlyTurns:
        """The turn, with what comes after it."""
        lock = self.places.head.with_name("turn.lock")
        return MonthlyTurns(lock, self.turn_calendar, lambda: self.rotation, self.after_results)

    def after_results(self, why: str) -> None:
        """Look at the results of a run or a turn, and rewrite what is public of them; an error stops nothing."""
        self.detection.run(why)
        public_view.after(self)

    @cached_property
    def outbox(self) -> Outbox:
        """The notices to maintainers."""
        from quarterturn.notices import channels  # noqa: PLC0415 - loads mail and HTTP
        from quarterturn.notices.outbox import Outbox  # noqa: PLC0415 - likewise

        origin = self.settings.benchmark.origin
        return Outbox(self.engine, channels.of(self.settings.notify, self.home, origin, self.now), origin, self.now)

    @cached_property
    def monthly_clock(self) -> MonthlyClock:
        """What makes the turns that are due; works as far as it can where the key ring is locked."""
        from quarterturn.month.automatic_turn import MonthlyClock  # noqa: PLC0415 - loads a scheduler

        return MonthlyClock(
            self.turn_calendar,
            self.monthly_turns,
            self.outbox,
            preview=lambda: self.turn_preview.next(),  # noqa: PLW0108 - opens the key ring when it is called
            withdrawn=lambda: withdrawal.listed(self.books),
        )

    # -- the service --------------------------------------------------------------------------------------------------

    @cached_property
    def accounts(self) -> Accounts:
        """The accounts and API tokens."""
        return Accounts(self.engine, self.now)

    @cached_property
    def oidc(self) -> Provider | None:
        """The OpenID provider of maintainers, if the settings name one."""
        from quarterturn.accounts.oidc import Provider  # noqa: PLC0415 - loads slowly, and only the service needs it

        return Provider(self.settings.oidc, self.now) if self.settings.oidc.issuer else None

    def caller(self, text: str) -> Caller | None:
        """Give the caller of a token, ours or the provider's; None where it is not valid."""
        ours = self.accounts.caller(text)
        return ours if ours is not None or self.oidc is None else self.oidc.caller(text)

    @cached_property
    def submissions(self) -> Submissions:
        """The submissions through the service."""
        return Submissions(self.engine, self.exposures, self.settings.service, self.now)

    @cached_property
    def queue(self) -> Queue:
        """The job queue."""
        return Queue(self.engine, self.now, self.settings.service.at_once)
