"""Services of the month: its turn, the clock that makes it, withdrawals and notices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.approvals import approvals
from quarterturn.composition.auth import AuthServices
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.detection import DetectionServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.keys import KeyServices
from quarterturn.composition.log import LogServices
from quarterturn.composition.runs import RunServices
from quarterturn.composition.submissions import SubmissionServices
from quarterturn.composition.tasks import TaskServices
from quarterturn.settings import public_key
from rotation.turn.plan import Plan, Planner
from vault.ledger.signatures.note import Verifier

if TYPE_CHECKING:
    from quarterturn.month.automatic_turn import MonthlyClock
    from quarterturn.month.monthly_turn import MonthlyTurns
    from quarterturn.month.turn_preview import TurnPreview
    from quarterturn.month.withdraw_task import ApprovedWithdrawals
    from quarterturn.notices.outbox import Outbox
    from rotation.turn.turn import Rotation


@dataclass
class MonthServices:
    """What happens in a home once a month."""

    home: OpenHome
    keys: KeyServices
    auth: AuthServices
    log: LogServices
    benchmark: BenchmarkServices
    tasks: TaskServices
    runs: RunServices
    detection: DetectionServices
    submissions: SubmissionServices

    @cached_property
    def outbox(self) -> Outbox:
        """The notices to maintainers."""
        from quarterturn.notices import channels, outbox, store

        home, origin = self.home, self.home.settings.benchmark.origin
        delivered_by = channels.of(home.settings.notify, home.folder, origin, home.now)
        return outbox.Outbox(store.NoticeStore(home.engine, home.now), delivered_by, origin)

    @cached_property
    def withdrawals(self) -> ApprovedWithdrawals:
        """The withdrawals of tasks, with their approval."""
        from quarterturn.month.withdraw_task import ApprovedWithdrawals

        return ApprovedWithdrawals(
            self.home.vault,
            require=self.auth.approvals.require,
            withdrawals=self.benchmark.withdrawals,
            prove=self.tasks.prove_broken,
            after=self.submissions.view.update,
        )

    @cached_property
    def planner(self) -> Planner:
        """What plans a turn."""
        return Planner(self.home.vault, self.benchmark.months, self.benchmark.spec, self._require_approval)

    def _require_approval(self, plan: Plan) -> None:
        self.auth.approvals.require("activate", *approvals.turn(plan))

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

        home, vault, ledger = self.home, self.home.vault, self.log.ledger
        months, withdrawals = self.benchmark.months, self.benchmark.withdrawals
        run_ledger, findings = self.runs.ledger, self.benchmark.findings
        checks = SpotChecks(vault, self.runs.store, run_ledger, findings, self.tasks.judge_again)
        closing = ClosingSteps(months, withdrawals, self.runs.official, checks)
        evidence, releases = self.detection.evidence_writer, home.places.releases
        release = ReleaseSteps(vault, ledger, months, run_ledger, withdrawals, evidence=evidence, folder=releases)
        keys = home.settings.approvals.withdrawal_keys
        promises = Promises(
            vault,
            ledger,
            months,
            self.benchmark.spec,
            server_digest=server_digest,
            withdrawal_keys=[Verifier(name, public_key(line)).vkey for name, line in keys.items()],
            judge=self.keys.claim_judges.checked,
            entropy=home.entropy,
        )
        attester = Attester(self.keys.month_key, home.places.public, ledger, months)
        activation = ActivationSteps(ledger, months, self.planner, promises, attester)
        return Rotation(months, self.planner, closing, release, activation, entropy=home.entropy)

    @cached_property
    def preview(self) -> TurnPreview:
        """What the next turn would do, and what it lacks."""
        from quarterturn.month.turn_preview import TurnPreview

        self.auth.approvals.in_force()  # under other rules than were agreed to, it would name the wrong signers
        calendar, vault, runs = self.benchmark.calendar, self.home.vault, self.runs.store
        return TurnPreview(calendar, self.planner, vault, runs, self._missing_approval)

    def _missing_approval(self, plan: Plan) -> str | None:
        return self.auth.approvals.waiting("activate", *approvals.turn(plan))

    @cached_property
    def turns(self) -> MonthlyTurns:
        """The turn, with what comes after it."""
        from quarterturn.month.monthly_turn import MonthlyTurns

        lock = self.home.places.head.with_name("turn.lock")
        return MonthlyTurns(lock, self.benchmark.calendar, lambda: self.rotation, self._after_turn)

    def _after_turn(self, why: str) -> None:
        """Do what follows a turn: as after a run, and owners see the traces of the tasks that retired."""
        self.after_results(why)
        self.submissions.trace_release.release_all()

    def after_results(self, why: str) -> None:
        """Look at the results of a run or a turn, and rewrite what is public of them; an error stops nothing."""
        self.detection.detectors.run(why)
        self.submissions.view.update()

    @cached_property
    def clock(self) -> MonthlyClock:
        """What makes the turns that are due; works as far as it can where the key ring is locked."""
        from quarterturn.month.automatic_turn import MonthlyClock

        return MonthlyClock(
            self.benchmark.calendar,
            self.turns,
            self.outbox,
            preview=lambda: self.preview.next(),  # noqa: PLW0108 - opens the key ring when it is called
            withdrawn=lambda: self.benchmark.withdrawals.listed(),  # noqa: PLW0108 - likewise
            frozen_agents=lambda: self.submissions.frozen_agents.submit() if self.home.settings.frozen_agents else [],
        )
