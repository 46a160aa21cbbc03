"""Composition root: one open home, whose services are made when they are first asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from quarterturn import settings, wall_clock
from quarterturn.choices import BoxName, WorkerClass
from quarterturn.home.paths import HomePaths
from quarterturn.settings import Settings
from rotation.calendar import Month
from vault.keys.locks import Opener
from vault.keys.locks.command import Command
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.passphrase import Passphrase

if TYPE_CHECKING:
    from grammars.admission.store import Drafts
    from grammars.language.grammar import Grammar
    from grammars.language.imported import Imported
    from quarterturn.accounts.oidc import Provider
    from quarterturn.accounts.store import Accounts, Caller
    from quarterturn.approvals.approvals import Approvals
    from quarterturn.backup.backup import Backups
    from quarterturn.display_names.store import DisplayNames
    from quarterturn.findings.detection import Detection
    from quarterturn.findings.detection_report import DetectionReports
    from quarterturn.findings.evidence import EvidenceExports
    from quarterturn.http.app import HttpApplication
    from quarterturn.keys.claim_judge import ClaimJudges
    from quarterturn.keys.key_locks import KeyLocks
    from quarterturn.keys.log_key import LogKeyChange
    from quarterturn.keys.models import ModelUpstreams
    from quarterturn.keys.rekeying import KeyRotation
    from quarterturn.month.automatic_turn import MonthlyClock
    from quarterturn.month.monthly_turn import MonthlyTurns
    from quarterturn.month.turn_calendar import TurnCalendar
    from quarterturn.month.turn_preview import TurnPreview
    from quarterturn.month.withdraw_task import ApprovedWithdrawals
    from quarterturn.notices.outbox import Outbox
    from quarterturn.public_view import PublicViewWriter
    from quarterturn.runs.jobs import JobWorker
    from quarterturn.runs.measures import RunMeasures
    from quarterturn.runs.private_runs import PrivateRuns
    from quarterturn.runs.request import Facilities
    from quarterturn.servers.home_servers import HomeServers
    from quarterturn.submissions.frozen_agents import FrozenAgents
    from quarterturn.submissions.service import OwnerView, SubmissionService
    from quarterturn.submissions.store.queue import Executor, Queue
    from quarterturn.submissions.store.requests import Submissions
    from quarterturn.submissions.store.traces import TraceStore
    from quarterturn.submissions.traces import TraceRelease, Traces
    from quarterturn.tasks.review import TaskReviews
    from rotation.detection.evidence import EvidenceWriter
    from rotation.detection.leak_trace import LeakTracer
    from rotation.detection.scan_results import Scanner
    from rotation.detection.sealed_results import SealedResults
    from rotation.exposure.store import Exposures
    from rotation.findings.store import Findings
    from rotation.generation.generate import TaskGenerator
    from rotation.generation.import_tasks import TaskImport
    from rotation.generation.known_tasks import KnownTasks
    from rotation.generation.replenish import Replenishment
    from rotation.leaderboard.caveats import Caveats
    from rotation.leaderboard.leaderboard import Leaderboard
    from rotation.leaderboard.store import ScoreStore
    from rotation.month.sets import SetSpec
    from rotation.month.store import MonthStore
    from rotation.runs.official import OfficialRuns
    from rotation.runs.run_ledger import RunLedger
    from rotation.runs.run_tasks import RunTasks
    from rotation.runs.scorekeeper import Scorekeeper
    from rotation.runs.withdrawal import Withdrawals
    from rotation.turn.plan import Plan, Planner
    from rotation.turn.turn import Rotation
    from sandbox.boxes.box import Box
    from sandbox.claim_judge.claim_judge import ClaimJudge
    from sandbox.endpoint.signature import Sender
    from sandbox.isolation.run_classes import RunClass
    from sandbox.runs.rejudge import JudgeAgain
    from sandbox.runs.store import Runs
    from sandbox.servings.kept_worlds import KeptWorlds
    from vault.keys.ring import FileKeyRing
    from vault.ledger.signatures.policy import Policy
    from vault.ledger.write.append import LogWriter
    from vault.ledger.write.cosigning import Witnesses
    from vault.store.public_log import PublicLog
    from vault.store.tasks import Vault


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
        self._kept_worlds: dict[int, KeptWorlds] = {}
        if self.places.servers.is_dir():
            self.servers.register()
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
        """Let go of the database, the claim judge and the worlds of proofs, if they were opened."""
        for kept in self._kept_worlds.values():
            kept.close()
        if "engine" in self.__dict__:
            self.engine.dispose()
        if (judge := self.__dict__.get("admission_judge")) is not None:
            judge.close()

    # -- the vault ----------------------------------------------------------------------------------------------------

    @cached_property
    def ring(self) -> FileKeyRing:
        """The key ring, unlocked."""
        from vault.keys.ring import FileKeyRing

        return FileKeyRing.open_by(self.places.ring, self._openers)

    @cached_property
    def engine(self) -> Engine:
        """The database, whose tables are those of this version."""
        from quarterturn import migrations
        from vault.database import open_engine

        url = self.places.database_url(self.settings, self._database)
        self.places.require_database(url)
        engine = open_engine(url)
        migrations.require_newest(engine, self.home)
        return engine

    @cached_property
    def vault(self) -> Vault:
        """The sealed tasks."""
        from quarterturn.redactor import REDACTOR
        from vault.store.tasks import Vault

        return Vault(self.engine, self.ring, self.now, seen=REDACTOR.learn)

    @cached_property
    def key_locks(self) -> KeyLocks:
        """The locks that open the key ring."""
        from quarterturn.keys.key_locks import KeyLocks

        return KeyLocks(self.ring, self.places.ring, self.vault)

    @cached_property
    def key_rotation(self) -> KeyRotation:
        """Rotation of the key ring's primary key."""
        from quarterturn.keys.rekeying import KeyFiles, KeyRotation

        return KeyRotation(self.engine, self.ring, KeyFiles(self.places, self.ring), self.now)

    @cached_property
    def log_key_change(self) -> LogKeyChange:
        """Change of the log's signing key."""
        from quarterturn.keys.log_key import LogKeyChange

        return LogKeyChange(self.places, self.ring, self.writer, self.ledger, self.vault)

    @cached_property
    def models(self) -> ModelUpstreams:
        """The language models that agents may use, and their sealed keys."""
        from quarterturn.keys.models import ModelUpstreams

        return ModelUpstreams(self.settings.models, self.places, self.ring, self.settings.claim_judge.upstream)

    @cached_property
    def claim_judges(self) -> ClaimJudges:
        """The language model that judges claims about answers, if the settings name one."""
        from quarterturn.keys.claim_judge import ClaimJudges

        return ClaimJudges(self.settings.claim_judge, lambda: self.models, self.places)

    @cached_property
    def admission_judge(self) -> ClaimJudge | None:
        """The claim judge of tasks that are being admitted or tried, if the settings name one; closed with the home."""
        return self.claim_judges.judge("private")

    @cached_property
    def backups(self) -> Backups:
        """Backups of the home."""
        from quarterturn.backup.backup import Backups

        policy, origin = self.settings.ledger.policy, self.settings.benchmark.origin
        return Backups(lambda: self.engine, self.places, policy, origin, self.now)

    @cached_property
    def writer(self) -> LogWriter:
        """The public log's writer."""
        from vault.keys import signing
        from vault.ledger.signatures.note import Signer
        from vault.ledger.write.append import LogWriter

        origin = self.settings.benchmark.origin
        signer = Signer(origin, signing.load(self.places.log_key, self.ring))
        former = [key for key in self.places.log_keys if key != signer.verifier]
        return LogWriter(self.places.log, self.places.head, signer, origin, former=former)

    @cached_property
    def ledger(self) -> PublicLog:
        """The rows and tiles of the log."""
        from vault.store.log_guard import LogGuard
        from vault.store.public_log import PublicLog

        return PublicLog(self.engine, self.writer, self.now, self.witnesses, LogGuard(self.writer.origin))

    @cached_property
    def approvals(self) -> Approvals:
        """The acts that need two maintainers; while there are no rules, no key ring is opened."""
        from quarterturn.approvals.approvals import Approvals
        from quarterturn.approvals.store import ApprovalStore

        store = ApprovalStore(self.engine, lambda: self.vault, self.places.log_vkey, self.now)
        return Approvals(store, self.home, self.now)

    @cached_property
    def policy(self) -> Policy | None:
        """Who has to cosign the log's heads, and how many of them; None where the settings name nobody."""
        from quarterturn.home import policies

        return policies.of(self.places, self.settings.ledger.policy)

    @cached_property
    def witnesses(self) -> Witnesses | None:
        """Those who have to cosign the log's heads, ready to be asked; None where nobody has to.

        Raises:
            Unapproved: the settings name others than the rules in force, and two maintainers have not signed for it.
        """
        self.approvals.in_force()
        if self.policy is None:
            return None
        from quarterturn.home import witnesses

        return witnesses.of(self.writer, self.policy)

    # -- grammars and sandbox -----------------------------------------------------------------------------------------

    @cached_property
    def servers(self) -> HomeServers:
        """The MCP servers that it has added to the shipped ones."""
        from quarterturn.servers.home_servers import HomeServers

        return HomeServers(self.places.servers)

    @cached_property
    def imported(self) -> Imported:
        """The grammars of its own."""
        from grammars.language.imported import Imported
        from sandbox.servers.registry import tool_table
        from verifiers.language.catalogue import CATALOGUE

        return Imported(self.vault, tool_table(), CATALOGUE)

    def drawn_grammars(self, who: str) -> Mapping[str, Grammar]:
        """Return the grammars that tasks are drawn from: the home's own where it has one, else the shipped ones."""
        from rotation.generation.grammars import shipped_among

        return {**shipped_among(self.spec.servers), **self.imported.in_force(who=who, why="draw tasks")}

    @cached_property
    def drafts(self) -> Drafts:
        """Admissions and reviews."""
        from grammars.admission.store import Drafts

        return Drafts(self.engine, self.vault, self.now)

    @cached_property
    def runs(self) -> Runs:
        """Runs and their sealed results."""
        from sandbox.runs.store import Runs

        return Runs(self.engine, self.vault, self.now)

    def box(self, name: BoxName | None = None, run_class: RunClass = "sealed") -> Box:
        """Return the box that was asked for, else the one that the settings name, for a class of runs."""
        from quarterturn.boxes import choose_box

        return choose_box(name or self.settings.run.box, self.settings.run.runtime, run_class)

    @cached_property
    def sender(self) -> Sender:
        """The signer of requests to hosted endpoints."""
        from quarterturn.home.home import endpoint_sender

        return endpoint_sender(self.places, self.ring)

    # -- rotation -----------------------------------------------------------------------------------------------------

    @cached_property
    def spec(self) -> SetSpec:
        """The set's composition."""
        from quarterturn.home.benchmark_set import of_home

        return of_home(self.places, self.settings.benchmark.set)

    @cached_property
    def months(self) -> MonthStore:
        """Cohorts and turns."""
        from rotation.month.store import MonthStore

        return MonthStore(self.engine, self.now)

    @cached_property
    def exposures(self) -> Exposures:
        """The record of who was served which task."""
        from rotation.exposure.store import Exposures

        return Exposures(self.engine, self.now)

    @cached_property
    def findings(self) -> Findings:
        """Detection results and their reviews."""
        from rotation.findings.store import Findings

        return Findings(self.engine, self.now)

    @cached_property
    def withdrawals(self) -> Withdrawals:
        """Withdrawn tasks and their replacements."""
        from rotation.runs.withdrawal import Withdrawals

        return Withdrawals(self.vault, self.ledger, self.months, self.findings)

    @cached_property
    def run_ledger(self) -> RunLedger:
        """What the ledger says of official runs."""
        from rotation.runs.run_ledger import RunLedger

        return RunLedger(self.vault, self.ledger, self.runs, self.entropy)

    @cached_property
    def run_tasks(self) -> RunTasks:
        """The tasks of open runs, as they are served."""
        from rotation.runs.run_tasks import RunTasks

        return RunTasks(self.vault, self.ledger, self.months, self.runs, self.exposures)

    @cached_property
    def official(self) -> OfficialRuns:
        """Runs that are bound to the ledger."""
        from rotation.runs.official import OfficialRuns

        return OfficialRuns(
            self.months,
            self.runs,
            self.run_ledger,
            self.run_tasks,
            self.withdrawals,
            tracks=self.spec.tracks,
            judge=self.claim_judges.digests,
            scorekeeper=self.scorekeeper,
        )

    @cached_property
    def sealed_results(self) -> SealedResults:
        """Results of finished runs, for the detectors."""
        from rotation.detection.sealed_results import SealedResults

        return SealedResults(self.vault, self.months, self.runs, self.exposures, self.withdrawals)

    @cached_property
    def scanner(self) -> Scanner:
        """The detection scan."""
        from rotation.detection.scan_results import Scanner
        from rotation.exposure.store import ExposureLimits

        limits = ExposureLimits(servings=self.settings.findings.servings, readers=self.settings.findings.readers)
        return Scanner(self.sealed_results, self.months, self.exposures, self.findings, limits=limits, clock=self.now)

    @cached_property
    def leak_tracer(self) -> LeakTracer:
        """The tracing of leaked texts."""
        from rotation.detection.leak_trace import LeakTracer

        return LeakTracer(self.vault, self.months, self.runs, self.run_ledger, self.withdrawals)

    @cached_property
    def evidence_writer(self) -> EvidenceWriter:
        """What writes the evidence documents of findings."""
        from rotation.detection.evidence import EvidenceWriter

        return EvidenceWriter(
            self.vault, self.months, self.runs, self.run_ledger, tracer=self.leak_tracer, findings=self.findings
        )

    # -- the leaderboard ----------------------------------------------------------------------------------------------

    @cached_property
    def scores(self) -> ScoreStore:
        """The figures of closed runs, and what was disclosed of them."""
        from rotation.leaderboard.store import ScoreStore

        return ScoreStore(self.engine)

    @cached_property
    def scorekeeper(self) -> Scorekeeper:
        """What makes and discloses the figures of a run when it is closed."""
        from rotation.runs.scorekeeper import Scorekeeper

        return Scorekeeper(self.scores, self.months, self.withdrawals, self.accounts.party)

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The leaderboards."""
        from rotation.leaderboard.leaderboard import Leaderboard

        return Leaderboard(self.scores, self.runs, self.exposures, self.accounts.parties)

    @cached_property
    def caveats(self) -> Caveats:
        """What makes a score say less."""
        from rotation.leaderboard.caveats import Caveats

        return Caveats(self.engine, self.months)

    @cached_property
    def public_view(self) -> PublicViewWriter:
        """The writer of the public view."""
        from quarterturn.public_view import ABOUT, HomeFacts, PublicDocuments, PublicViewWriter

        told = self.settings.benchmark.model_dump(include={"origin", "first_month", *ABOUT})
        benchmark = {name: value for name, value in told.items() if value}
        facts = HomeFacts(benchmark, self.places.releases, self.places.log, self.turn_calendar.next)
        parts = (facts, self.months, self.leaderboard, self.caveats, self.findings)
        documents = PublicDocuments(*parts, names=self.display_names.shown)
        return PublicViewWriter(self.places.view, documents, self.months, self._recount)

    def refresh_public_view(self) -> None:
        """Write the whole public view, the dev set included."""
        from quarterturn.public_view import dev_set

        self.public_view.refresh(partial(dev_set, self.spec, self.known_tasks.count_unpublished))

    def linked_scores(self, month: Month) -> Mapping[int, Mapping[str, Any]]:
        """Return the raw and the linked scores of a month's runs, by their numbers."""
        from rotation.detection.linked_scores import linked_scores

        return linked_scores(self.sealed_results, self.months, self.withdrawals, month)

    def _recount(self, month: Month) -> None:
        from sandbox.runs.store import RunState

        closed = self.runs.list(month=str(month), state=RunState.DONE)
        opened = lambda record: self.run_ledger.closed(record, why=f"figures of run {record.number}")  # noqa: E731
        self.scorekeeper.recount(month, closed, opened)

    @cached_property
    def month_key(self) -> Ed25519PrivateKey:
        """The key that signs the result of each turn."""
        from quarterturn.home.home import month_key

        return month_key(self.places, self.ring)

    @cached_property
    def planner(self) -> Planner:
        """What plans a turn."""
        from rotation.turn.plan import Planner

        return Planner(self.vault, self.months, self.spec, self._agreed)

    @cached_property
    def rotation(self) -> Rotation:
        """The turn."""
        from rotation.turn.activation_steps import ActivationSteps
        from rotation.turn.attestation import Attester
        from rotation.turn.closing_steps import ClosingSteps
        from rotation.turn.promise import Promises
        from rotation.turn.release_steps import ReleaseSteps
        from rotation.turn.spot_check import SpotChecks
        from rotation.turn.turn import Rotation
        from sandbox.servers.definition import server_digest

        vault, ledger, months = self.vault, self.ledger, self.months
        checks = SpotChecks(vault, self.runs, self.run_ledger, self.findings, self._judge_again)
        closing = ClosingSteps(months, self.withdrawals, self.official, checks)
        release = ReleaseSteps(
            vault,
            ledger,
            months,
            self.run_ledger,
            self.withdrawals,
            evidence=self.evidence_writer,
            folder=self.places.releases,
        )
        promises = Promises(
            vault,
            ledger,
            months,
            self.spec,
            server_digest=server_digest,
            withdrawal_keys=self._withdrawal_keys(),
            judge=self.claim_judges.checked,
            entropy=self.entropy,
        )
        attester = Attester(self.month_key, self.public, ledger, months)
        activation = ActivationSteps(ledger, months, self.planner, promises, attester)
        return Rotation(months, self.planner, closing, release, activation, entropy=self.entropy)

    def _withdrawal_keys(self) -> list[str]:
        from quarterturn.settings import public_key
        from vault.ledger.signatures.note import Verifier

        keys = self.settings.approvals.withdrawal_keys
        return [Verifier(name, public_key(line)).vkey for name, line in keys.items()]

    def _judge_again(self) -> JudgeAgain:
        from sandbox.runs.rejudge import JudgeAgain

        return JudgeAgain(cache(self._box_of_run))

    def _box_of_run(self, name: str) -> Box:
        from quarterturn.boxes import choose_box

        return choose_box(cast("BoxName", name), self.settings.run.runtime)

    def _agreed(self, plan: Plan) -> None:
        from quarterturn.approvals import approvals

        self.approvals.require("activate", *approvals.turn(plan))

    # -- tasks, detection and the month -------------------------------------------------------------------------------

    @cached_property
    def known_tasks(self) -> KnownTasks:
        """What a new draft must differ from."""
        from rotation.generation.known_tasks import KnownTasks

        return KnownTasks(self.vault, self.months, self.drafts, self.spec)

    @cached_property
    def replenishment(self) -> Replenishment:
        """The supply of the next turn."""
        from rotation.generation.replenish import Replenishment

        return Replenishment(self.vault, self.months, self.spec, self.known_tasks, self._generator)

    def _generator(self, author: str, box: Box) -> TaskGenerator:
        from rotation.generation.generate import TaskGenerator
        from sandbox.runs.job import Terms
        from sandbox.runs.prover import BoxProver

        prover = BoxProver(box, Terms(claims=self.admission_judge), self.kept_worlds(box))
        grammars = self.drawn_grammars(author)
        spec, workers = self.spec, self.settings.run.workers
        return TaskGenerator(
            grammars, self.vault, self.drafts, prover, mix=spec.per_cohort, quotas=spec.trait_quotas, workers=workers
        )

    def kept_worlds(self, box: Box) -> KeptWorlds:
        """Return the worlds of proofs in a box, which all draws share until this home is closed."""
        from sandbox.servings.kept_worlds import KeptWorlds

        if id(box) not in self._kept_worlds:
            self._kept_worlds[id(box)] = KeptWorlds(box)  # it holds the box, so no other one gets that id
        return self._kept_worlds[id(box)]

    @cached_property
    def task_import(self) -> TaskImport:
        """The import of hand-written tasks."""
        from rotation.generation.import_tasks import TaskImport

        return TaskImport(self.vault, self.drafts, self.known_tasks, lambda: self.admission_judge)

    @cached_property
    def reviews(self) -> TaskReviews:
        """The reviews of tasks."""
        from quarterturn.tasks.review import TaskReviews

        return TaskReviews(self.vault, self.drafts, self.approvals.require, self.now)

    @cached_property
    def detection(self) -> Detection:
        """The detector runs."""
        from quarterturn.findings.detection import Detection

        return Detection(self.scanner, self.findings, self.now)

    @cached_property
    def evidence_exports(self) -> EvidenceExports:
        """The exports of evidence, each signed for by two maintainers where the rules say so."""
        from quarterturn.findings.evidence import EvidenceExports

        return EvidenceExports(self.evidence_writer, self.findings, self.months, self.approvals.require)

    @cached_property
    def detection_reports(self) -> DetectionReports:
        """The monthly reports on findings."""
        from quarterturn.findings.detection_report import DetectionReports

        return DetectionReports(self.runs, self.sealed_results, self.findings, self.settings.benchmark.origin, self.now)

    @cached_property
    def approved_withdrawals(self) -> ApprovedWithdrawals:
        """The withdrawals of tasks."""
        from quarterturn.month.withdraw_task import ApprovedWithdrawals

        return ApprovedWithdrawals(
            self.vault,
            require=self.approvals.require,
            withdrawals=self.withdrawals,
            prove=self._prove_broken,
            after=self.public_view.update,
        )

    def _prove_broken(self, task: str, who: str, box: BoxName | None) -> Mapping[str, Any]:
        from rotation.runs.broken import evidence_of
        from sandbox.runs.job import Terms
        from sandbox.runs.prover import BoxProver

        prover = BoxProver(self.box(box), Terms(claims=self.admission_judge))
        return evidence_of(task, self.vault, prover, who=who)

    @cached_property
    def turn_calendar(self) -> TurnCalendar:
        """Which turn comes next, and when."""
        from quarterturn.month.turn_calendar import TurnCalendar

        first = Month.parse(self.settings.benchmark.first_month)
        return TurnCalendar(self.months, first, self.settings.clock, self.now)

    @cached_property
    def turn_preview(self) -> TurnPreview:
        """What the next turn would do, and what it lacks."""
        from quarterturn.month.turn_preview import TurnPreview

        self.approvals.in_force()  # under other rules than were agreed to, it would name the wrong signers
        return TurnPreview(self.turn_calendar, self.planner, self.vault, self.runs, self._unsigned)

    def _unsigned(self, plan: Plan) -> str | None:
        from quarterturn.approvals import approvals

        return self.approvals.waiting("activate", *approvals.turn(plan))

    @cached_property
    def monthly_turns(self) -> MonthlyTurns:
        """The turn, with what comes after it."""
        from quarterturn.month.monthly_turn import MonthlyTurns

        lock = self.places.head.with_name("turn.lock")
        return MonthlyTurns(lock, self.turn_calendar, lambda: self.rotation, self.after_turn)

    def after_turn(self, why: str) -> None:
        """Do what follows a turn: as after a run, and owners see the traces of the tasks that retired."""
        self.after_results(why)
        self.trace_release.release_all()

    def after_results(self, why: str) -> None:
        """Look at the results of a run or a turn, and rewrite what is public of them; an error stops nothing."""
        self.detection.run(why)
        self.public_view.update()

    @cached_property
    def monthly_clock(self) -> MonthlyClock:
        """What makes the turns that are due; works as far as it can where the key ring is locked."""
        from quarterturn.month.automatic_turn import MonthlyClock

        return MonthlyClock(
            self.turn_calendar,
            self.monthly_turns,
            self.outbox,
            preview=lambda: self.turn_preview.next(),  # noqa: PLW0108 - opens the key ring when it is called
            withdrawn=lambda: self.withdrawals.listed(),  # noqa: PLW0108 - likewise
            frozen_agents=lambda: self.frozen_agents.submit() if self.settings.frozen_agents else [],
        )

    # -- the service --------------------------------------------------------------------------------------------------

    @cached_property
    def accounts(self) -> Accounts:
        """The accounts and API tokens."""
        from quarterturn.accounts.store import Accounts

        return Accounts(self.engine, self.now)

    @cached_property
    def display_names(self) -> DisplayNames:
        """The names that owners chose for their agents."""
        from quarterturn.display_names.store import DisplayNames

        return DisplayNames(self.engine, self.now, agents=self.submissions.agents, accounts=self.accounts.parties)

    @cached_property
    def oidc(self) -> Provider | None:
        """The OpenID provider of maintainers, if the settings name one."""
        from quarterturn.accounts.oidc import Provider

        return Provider(self.settings.oidc, self.now) if self.settings.oidc.issuer else None

    def caller(self, text: str) -> Caller | None:
        """Return the caller of a token, ours or the provider's; None where it is not valid."""
        ours = self.accounts.caller(text)
        return ours if ours is not None or self.oidc is None else self.oidc.caller(text)

    @cached_property
    def outbox(self) -> Outbox:
        """The notices to maintainers."""
        from quarterturn.notices import channels, outbox, store

        origin = self.settings.benchmark.origin
        delivered_by = channels.of(self.settings.notify, self.home, origin, self.now)
        return outbox.Outbox(store.NoticeStore(self.engine, self.now), delivered_by, origin)

    @cached_property
    def submissions(self) -> Submissions:
        """The submissions through the service."""
        from quarterturn.submissions.store.requests import Submissions

        return Submissions(self.engine, self.exposures, self.settings.service, self.now)

    @cached_property
    def queue(self) -> Queue:
        """The job queue."""
        from quarterturn.submissions.store.queue import Queue

        return Queue(self.engine, self.now, self.settings.service.at_once, lambda: self.months.judge() is not None)

    @cached_property
    def submission_service(self) -> SubmissionService:
        """What takes and cancels submissions."""
        from quarterturn.submissions.service import SubmissionPolicy, SubmissionService
        from sandbox.image_reference import ImagePattern

        service = self.settings.service
        models = [name for name in self.settings.models if name != self.settings.claim_judge.upstream]
        hosting, judged = bool(service.callbacks_url), lambda: self.months.judge() is not None
        images = [ImagePattern.parse(pattern) for pattern in service.images]
        policy = SubmissionPolicy(images, models, hosting, self.spec.tracks, judged)
        return SubmissionService(
            self.submissions, policy, self.months, self.now, official=self.official, public_view=self.public_view
        )

    @cached_property
    def frozen_agents(self) -> FrozenAgents:
        """What submits the frozen agents."""
        from quarterturn.submissions.frozen_agents import FrozenAgents

        agents = self.settings.frozen_agents
        return FrozenAgents(agents, self.accounts, self.submission_service, self.submissions, self.months)

    @cached_property
    def owner_view(self) -> OwnerView:
        """What shows submissions to their owners."""
        from quarterturn.submissions.service import OwnerView

        stores, at_once = (self.queue, self.submissions, self.scores, self.trace_store), self.settings.service.at_once
        return OwnerView(*stores, now=self.now, at_once=at_once)

    @cached_property
    def trace_store(self) -> TraceStore:
        """Where traces are kept."""
        from quarterturn.submissions.store.traces import TraceStore

        return TraceStore(self.engine)

    @cached_property
    def traces(self) -> Traces:
        """What shows traces."""
        from quarterturn.submissions.traces import Traces

        return Traces(self.trace_store, self.submissions, self.trace_release, self.now)

    @cached_property
    def trace_release(self) -> TraceRelease:
        """What adds the retired tasks of private runs to their traces."""
        from quarterturn.submissions.traces import TraceRelease

        return TraceRelease(
            self.trace_store,
            self.runs,
            self.vault,
            submissions=self.submissions,
            months=self.months,
            withdrawals=self.withdrawals,
            run_ledger=self.run_ledger,
        )

    # -- runs ---------------------------------------------------------------------------------------------------------

    @cached_property
    def facilities(self) -> Facilities:
        """What runs are given."""
        from quarterturn.runs.request import Facilities

        return Facilities(self.spec, self.models, self.claim_judges, self.box, lambda: self.sender)

    @cached_property
    def private_runs(self) -> PrivateRuns:
        """What plays official runs."""
        from quarterturn.runs.private_runs import PrivateRuns

        return PrivateRuns(
            self.official,
            self.run_tasks,
            self.runs,
            settings=self.settings.run,
            facilities=self.facilities,
            submissions=self.submissions,
            detection=self.detection,
            public_view=self.public_view,
        )

    @cached_property
    def run_measures(self) -> RunMeasures:
        """The measures of runs on the dev set."""
        from quarterturn.runs.measures import run_measures

        return run_measures(self.trace_store, self.accounts.parties)

    @cached_property
    def job_worker(self) -> JobWorker:
        """What runs claimed submissions."""
        from quarterturn.runs.dev_runs import PublicRuns
        from quarterturn.runs.jobs import JobWorker

        public = PublicRuns(self.facilities, self.trace_store, self.run_measures)
        return JobWorker(
            self.submissions,
            self.queue,
            self.runs,
            settings=self.settings,
            private=self.private_runs,
            public=public,
            traces=self.trace_release,
        )

    def executor(self, workers: int, only: WorkerClass | None = None) -> Executor:
        """Return what runs submissions in the background, `workers` at a time."""
        from quarterturn.runs.postgres_executor import executor

        return executor(self.engine, self.queue, self.job_worker.work, workers, only)

    def _catch_up(self) -> None:
        """Write what a process that died may have left: the public view, and the traces of retired tasks."""
        self.refresh_public_view()
        self.trace_release.release_all()

    # -- HTTP ---------------------------------------------------------------------------------------------------------

    def http(self, executor: Executor, clock: Callable[[], float] = time.monotonic) -> HttpApplication:
        """Return the HTTP application; while it lives, the executor works."""
        from quarterturn.http.app import create
        from quarterturn.http.dependencies.services import HttpServices, ServiceHealth
        from quarterturn.http.responses.public_log import LogView
        from quarterturn.http.responses.public_view import PublicView

        services = HttpServices(
            caller=self.caller,
            accounts=self.accounts,
            display_names=self.display_names,
            public_view=self.public_view,
            executor=executor,
            submissions=self.submissions,
            submitting=self.submission_service,
            owner_view=self.owner_view,
            traces=self.traces,
            run_measures=self.run_measures,
            findings=self.findings,
            months=self.months,
            calendar=self.turn_calendar,
            outbox=self.outbox,
            health=ServiceHealth(self.engine, self.writer, self.public_view),
        )
        view, log = PublicView(self.public), LogView(self.places.log, self.policy)
        return create(services, view, log, self.settings.service, refresh=self._catch_up, clock=clock)
