"""Monthly spot check: one result in twenty is judged again, from the state that was sealed before the first verdict.

    1. promise   a seed is sealed and committed to in the month's `set` statement
    2. judge     when no result can be added any more, the seed and the log's root choose the results
       (`vault.ledger.statements.spot_check`),
                 and a second judge judges each chosen result's state (`Checked.here` tells whether it ran in the first
                 one's process); of one that a runner handed in, the transcript is replayed too, and the states are
                 compared (`sandbox.runs.replay`); each check is sealed at once, so a resumed step does not repeat it
    3. drop      the sealed states of the month are deleted, except those that differ in one of the two: they stay until
                 the next spot check
    4. conclude  the counts of verdicts are fixed for the `retire` statement; verdicts and states that differ become
                 findings, and replays are shown to maintainers alone

A result is bound by the ledger, so it never changes. A result without a state (the world broke, or nothing was served)
is chosen like any other, and is not judged. The judged state is that of the attempt that counts.

The check detects a worker whose verdicts differ from the others': broken, out of date, or lying. It does not prove that
a state is the one that the agent left, nor that a failure was classified correctly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from sqlmodel import Session

from rotation.calendar import Month
from rotation.findings.store import Findings, NewFinding
from rotation.runs.run_ledger import WHO, RunLedger
from rotation.turn.turn_facts import SPOT_CHECK, SPOT_CHECK_DETAIL
from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.errors import Unjudged
from sandbox.judge import WORKER
from sandbox.results.outcome import THE_SERVICE, TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.replay import ReplayResult
from sandbox.runs.store import RunRecord, Runs, RunState
from vault.commitment import commitment
from vault.ledger.statements.spot_check import LABEL, is_chosen
from vault.store.tasks import Vault
from vault.task.document import Task
from verifiers.language.verdict import Verdict

VERDICT_KIND, REPLAY_KIND = "verdict", "replay"
_SEED, _AGAIN = "spot-seed/", "again/"


class Rejudge(Protocol):
    """Interface of the judge of sealed states (implemented in `sandbox.runs.rejudge`)."""

    def verdict(
        self, box: str, task: Task, left: UnjudgedResult, claims: Sequence[ClaimExchange] = ()
    ) -> Verdict | None:
        """Return the verdict of a task's predicate on what was left in a box; None if that holds no state.

        Raises:
            Unjudged: no verdict is possible, for a reason on the operator's side.
            Unavailable: no judge can be reached now.
        """

    def replay(self, box: str, task: Task, left: UnjudgedResult) -> ReplayResult:
        """Play the calls of a transcript again, and compare what they leave with what was handed in."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The spot check of one chosen result.

    Attributes:
        run: its run.
        task: its task.
        judged: whether its state was judged again.
        differs: whether the second verdict, or the sealed outcome, differs from the bound result.
        here: whether the first verdict came from the same process as the second.
        passed: whether the result counts as passed.
        runner: the runner that handed the state in, by what is sealed; empty if none did.
        replay: what replaying its transcript came to; empty if that was not tried.
    """

    run: int
    task: str
    judged: bool = False
    differs: bool = False
    here: bool = False
    passed: bool = False
    runner: str = ""
    replay: str = ""

    @property
    def has_other_state(self) -> bool:
        """Whether its transcript leads to another state than the one that was handed in."""
        return self.replay == ReplayResult.DIFFERS

    @property
    def name(self) -> str:
        """`RUN/TASK`, as shown to people."""
        return f"{self.run}/{self.task}"


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """The result of a month's spot check.

    Attributes:
        month: the month.
        seed: the 32-byte seed that chose the results.
        salt: the salt of the commitment to the seed.
        results: the chosen results, by run and task.
    """

    month: Month
    seed: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    results: tuple[Checked, ...]


class SpotChecks:
    """Service that makes the spot check of a month; `again` opens the judge that judges again."""

    def __init__(
        self,
        vault: Vault,
        runs: Runs,
        run_ledger: RunLedger,
        findings: Findings,
        again: Callable[[], AbstractContextManager[Rejudge]],
    ) -> None:
        self._vault, self._runs, self._run_ledger = vault, runs, run_ledger
        self._findings, self._again = findings, again

    def judge(self, month: Month) -> SpotCheck | None:
        """Judge again every chosen result that was not yet judged again (step 2); None if no seed was committed to.

        Raises:
            Unavailable: the judge, or the box of a backend, is not available now; earlier verdicts are kept.
        """
        self._run_ledger.publish()  # the last results of the month decide what is chosen
        with self._again() as again:
            if not self._vault.has_blob(f"{_SEED}{month}"):
                return None
            opening = self._vault.open_blob(f"{_SEED}{month}", who=WHO, why=f"spot check of {month}")
            seed, salt = opening[:32], opening[32:]
            present = set(self._vault.blob_names(f"{_AGAIN}{month}/"))
            for record, bound in self._chosen(month, seed):
                name = f"{_AGAIN}{month}/{record.number}/{bound['task']}"
                if name not in present:
                    checked = self._judged(record, bound, again)
                    self._vault.seal_blob(name, json.dumps(asdict(checked)).encode())
            blobs = self._vault.open_blobs(f"{_AGAIN}{month}/", who=WHO, why=f"spot check of {month}")
        results = sorted(
            (Checked(**json.loads(data)) for data in blobs.values()), key=lambda result: (result.run, result.task)
        )
        return SpotCheck(month, seed, salt, tuple(results))

    def drop_states(self, check: SpotCheck | None) -> None:
        """Delete every sealed state except those that differ (step 3)."""
        results = check.results if check else ()
        differing = [result for result in results if result.differs or result.has_other_state]
        for record in self._runs.list():
            self._runs.drop_left(record.number, [result.task for result in differing if result.run == record.number])

    def conclude(self, session: Session, check: SpotCheck) -> dict[str, str]:
        """Record what differs as findings, and give the spot check's facts for the turn (step 4)."""
        for result in check.results:
            if result.differs:
                detail = "its state was judged again, to another verdict"
                self._findings.add(session, NewFinding(VERDICT_KIND, result.name, check.month, detail=detail))
            if result.has_other_state:
                detail = f"its calls, played again, leave another state than the runner {result.runner} handed in"
                self._findings.add(session, NewFinding(REPLAY_KIND, result.name, check.month, detail=detail))
        self._vault.drop_blobs(f"{_AGAIN}{check.month}/", session=session)
        facts = {
            "seed": check.seed.hex(),
            "salt": check.salt.hex(),
            "chosen": len(check.results),
            "judged": sum(result.judged for result in check.results),
            "differed": sum(result.differs for result in check.results),
        }
        replays = [(result.name, result.runner, result.replay) for result in check.results]
        more = {
            "differed": [result.name for result in check.results if result.differs],
            "stateless": [result.name for result in check.results if result.passed and not result.judged],
            "here": sum(result.here for result in check.results),
            "replays": {
                replay.value: [f"{name} ({runner})" for name, runner, outcome in replays if outcome == replay]
                for replay in ReplayResult
            },
        }
        return {SPOT_CHECK: json.dumps(facts), SPOT_CHECK_DETAIL: json.dumps(more)}

    def _chosen(self, month: Month, seed: bytes) -> Iterator[tuple[RunRecord, Mapping[str, Any]]]:
        """Yield the chosen results of a month's scored runs, each with its run."""
        done = self._runs.list(month=str(month), state=RunState.DONE)
        if not done:
            return
        root = self._run_ledger.root_after(done)
        for record in done:
            closing = self._run_ledger.closing(record.number, f"spot check of {month}")
            for bound in (item["result"] for item in closing["results"]):
                if is_chosen(seed, root, record.number, bound["task"]):
                    yield record, bound

    def _judged(self, record: RunRecord, bound: Mapping[str, Any], again: Rejudge) -> Checked:
        number, task_id, why = record.number, bound["task"], f"judge run {record.number} again"
        checked = Checked(number, task_id, passed=bound["passed"])
        if task_id not in self._runs.left(number) & self._runs.finished(number):
            return checked
        outcome = self._runs.result(number, task_id, who=WHO, why=why)
        left = self._runs.open_left(number, task_id, who=WHO, why=why)
        opened = self._vault.open(task_id, who=WHO, why=why).task
        task = self._vault.served(opened, record.submitter, record.month)
        if left.played_by not in ("", THE_SERVICE):
            checked = replace(checked, runner=left.played_by, replay=again.replay(record.box, task, left).value)
        try:
            verdict = again.verdict(record.box, task, left, outcome.claims)
        except Unjudged:
            return checked
        same_judge = outcome.judged_by == WORKER
        return replace(checked, judged=True, differs=_differs(bound, outcome, verdict), here=same_judge)


def promise(session: Session, vault: Vault, month: Month, seed: bytes, salt: bytes) -> bytes:
    """Seal the 32-byte seed of a month's spot check and give the commitment to it (step 1)."""
    vault.seal_blob(f"{_SEED}{month}", seed + salt, session=session)
    return commitment(LABEL, seed, salt)


def _differs(bound: Mapping[str, Any], outcome: TaskRun, verdict: Verdict | None) -> bool:
    """Compare the second verdict with the first, and with the outcome that counts (the verdict, unless a failure)."""
    counts = outcome.judged if outcome.failure else outcome.verdict
    agrees = (outcome.verdict.value, outcome.passed) == (bound["verdict"], bound["passed"])
    return not agrees or verdict is not outcome.judged or verdict is not counts
