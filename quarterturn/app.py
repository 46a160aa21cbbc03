"""Composition root: one open home, whose services are made when they are first asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from grammars.admission.store import Drafts
from grammars.language.grammar import Grammar
from grammars.language.imported import Imported
from grammars.language.load import library, load
from quarterturn import migrations, settings, wall_clock
from quarterturn.accounts.accounts import Accounts, Caller
from quarterturn.approvals import approvals
from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.home import policies
from quarterturn.home.home import HomePaths, endpoint_sender, month_key
from quarterturn.redactor import REDACTOR
from quarterturn.settings import Settings
from quarterturn.submissions.queue import Queue
from quarterturn.submissions.requests import Submissions
from rotation.detection.leak_trace import LeakTracer
from rotation.detection.scan_results import Scanner
from rotation.detection.sealed_results import SealedResults
from rotation.exposure.store import ExposureLimits, Exposures
from rotation.findings.store import Findings
from rotation.month.sets import SetSpec, named
from rotation.month.store import MonthStore
from rotation.runs.official import OfficialRuns
from rotation.runs.run_ledger import RunLedger
from rotation.runs.run_tasks import RunTasks
from rotation.runs.withdrawal import Withdrawals
from rotation.turn.activation_steps import ActivationSteps
from rotation.turn.attestation import Attester
from rotation.turn.closing_steps import ClosingSteps
from rotation.turn.plan import Plan, Planner
from rotation.turn.promise import Promises
from rotation.turn.release_steps import ReleaseSteps
from rotation.turn.spot_check import SpotChecks
from rotation.turn.turn import Rotation
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
        self.entropy: Callable[[int], bytes] = os.urandom  # for what the public log commits to
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
        return MonthStore(self.engine, self.now)

    @cached_property
    def exposures(self) -> Exposures:
        """The record of who was served which task."""
        return Exposures(self.engine, self.now)

    @cached_property
    def findings(self) -> Findings:
        """Detection results and their reviews."""
        return Findings(self.engine, self.now)

    @cached_property
    def withdrawals(self) -> Withdrawals:
        """Withdrawn tasks and their replacements."""
        return Withdrawals(self.vault, self.ledger, self.months, self.findings)

    @cached_property
    def run_ledger(self) -> RunLedger:
        """What the ledger says of official runs."""
        return RunLedger(self.vault, self.ledger, self.runs, self.entropy)

    @cached_property
    def run_tasks(self) -> RunTasks:
        """The tasks of open runs, as they are served."""
        return RunTasks(self.vault, self.ledger, self.months, self.runs, self.exposures)

    @cached_property
    def official(self) -> OfficialRuns:
        """Runs that are bound to the ledger."""
        return OfficialRuns(self.months, self.runs, self.run_ledger, self.run_tasks, self.withdrawals)

    @cached_property
    def sealed_results(self) -> SealedResults:
        """Results of finished runs, for the detectors."""
        return SealedResults(self.vault, self.months, self.runs, self.exposures, self.withdrawals)

    @cached_property
    def scanner(self) -> Scanner:
        """The detection scan."""
        limits = ExposureLimits(servings=self.settings.findings.servings, readers=self.settings.findings.readers)
        return Scanner(self.sealed_results, self.months, self.exposures, self.findings, limits=limits, clock=self.now)

    @cached_property
    def leak_tracer(self) -> LeakTracer:
        """The tracing of leaked texts."""
        return LeakTracer(self.vault, self.months, self.runs, self.run_ledger, self.withdrawals)

    @cached_property
    def month_key(self) -> Ed25519PrivateKey:
        """The key that signs the result of each turn."""
        return month_key(self.places, self.ring)

    @cached_property
    def rotation(self) -> Rotation:
        """The turn."""
        vault, ledger, months = self.vault, self.ledger, self.months
        planner = Planner(vault, months, self.spec, self._agreed)
        checks = SpotChecks(vault, self.runs, self.run_ledger, self.findings, self._judge_again)
        closing = ClosingSteps(months, self.withdrawals, self.official, checks)
        release = ReleaseSteps(vault, ledger, months, self.run_ledger, self.withdrawals, folder=self.places.releases)
        promises = Promises(vault, ledger, months, self.entropy)
        attester = Attester(self.month_key, self.public, ledger, months)
        activation = ActivationSteps(ledger, months, planner, promises, attester)
        return Rotation(months, planner, closing, release, activation, entropy=self.entropy)

    def _judge_again(self) -> JudgeAgain:
        return JudgeAgain(cache(self._box_of_run))

    def _box_of_run(self, name: str) -> Box:
        return choose_box(cast("BoxName", name), self.settings.run.runtime)

    def _agreed(self, plan: Plan) -> None:
        approvals.require(self, "activate", *approvals.turn(plan))

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


@cache
def shipped_grammar(server: str) -> Grammar:
    """Load a shipped grammar, once in a process, checked against the pinned tools and the known predicates."""
    return load(server, tools=tool_table(), predicates=CATALOGUE)


@cache
def shipped_grammars() -> Mapping[str, Grammar]:
    """Load every shipped grammar."""
    return {name: shipped_grammar(name) for name in library()}
