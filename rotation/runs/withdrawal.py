"""Withdrawal of a leaked or broken task before its cohort retires, in three idempotent steps.

    1. withdraw  the task's state, its `withdraw` leaf, its sealed evidence, its replacement, and the review entry that
                 closes the finding are one transaction
    2. publish   the checkpoint that covers the leaf is published and cosigned; from here on no figure counts a broken
                 task
    3. refill    only now may the replacement be served

Nobody chooses the replacement: it is the next task of the stratum's reserve in the order of the last `set` statement,
or none if the reserve is empty. A withdrawal that was killed anywhere is completed by the next withdrawal, the next run
that opens, or the next turn.

The leaf says why. A task that leaked is served to no run that is opened later; runs that were opened before still play
it, and their results count. A broken task counts in no run, and only what execution shows to be broken is withdrawn as
such (`rotation.runs.broken`): otherwise the tasks that somebody failed could be made to count for nothing.

Where a set of its cohort named keys of second persons, one of them signs the leaf beside the log (`to_sign`).

A withdrawn task is published with its cohort, a broken one with its evidence; one withdrawn from a reserve, with the
next cohort that retires. A task that was never committed to is withdrawn without a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import Malformed, NotAllowed
from rotation.findings.store import Findings
from rotation.month.sets import Stratum
from rotation.month.store import MonthStore
from vault.canonical import canonical
from vault.ledger.statements import leaf
from vault.ledger.statements.log_state import withdrawal_text
from vault.ledger.statements.statement import Statement
from vault.store.public_log import PublicLog
from vault.store.tasks import TaskRecord, Vault
from vault.task.lifecycle import TaskState

Cause: TypeAlias = Literal["leak", "broken"]
STEPS = ("withdraw", "publish", "refill")
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A withdrawal as recorded in the ledger.

    Attributes:
        task: the task's id.
        leaf: the index of its leaf.
        month: the month in which it was withdrawn.
        cause: `leak`, and the results of runs that were opened before count; or `broken`, and it counts in no run.
        reason: the public reason.
        replacement: the id of the task that replaced it, or None.
        cohort: the cohort that it belonged to, or None if it was in a reserve.
    """

    task: str
    leaf: int
    month: Month
    cause: Cause
    reason: str
    replacement: str | None
    cohort: str | None


@dataclass(frozen=True, slots=True)
class UnsignedWithdrawal:
    """A withdrawal that takes a second signature.

    Attributes:
        task: the task's id.
        text: what a second person signs.
        keys: verifier keys, of which one signs it.
    """

    task: str
    text: bytes
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _PlannedWithdrawal:
    """A withdrawal of a committed task, with what replaces it."""

    record: TaskRecord
    refill: TaskRecord | None
    month: Month

    def leaf(self, cause: Cause, reason: str, signature: Mapping[str, str] | None = None) -> bytes:
        return leaf.withdraw(
            self.record.id,
            self.record.commitment,
            month=str(self.month),
            cause=cause,
            reason=reason,
            replacement=self.refill.id if self.refill else None,
            signature=signature,
        )


class Withdrawals:
    """Service that withdraws tasks, and tells which tasks were withdrawn."""

    def __init__(self, vault: Vault, ledger: PublicLog, months: MonthStore, findings: Findings) -> None:
        self._vault, self._ledger, self._months, self._findings = vault, ledger, months, findings

    def withdraw(
        self,
        tasks: Sequence[str],
        reason: str,
        *,
        cause: Cause,
        who: str,
        evidence: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        signatures: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        on_step: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Withdraw tasks, or complete their withdrawal; idempotent for tasks that are withdrawn already.

        Args:
            tasks: their ids; those in a reserve are withdrawn first, so that none of them replaces another one.
            reason: the reason, which is public.
            cause: why they are withdrawn; it decides what counts.
            who: the person who withdraws them.
            evidence: by task, what shows that it is broken (`rotation.runs.broken.evidence_of`).
            signatures: by task, the second signature (`{"key", "signature"}`) of those that take one (`to_sign`).
            on_step: is called with the name of each step that is done.

        Raises:
            Malformed: the reason is not valid for the ledger.
            NotFound: there is no such task; nothing was done.
            NotAllowed: a turn is under way, a task is neither live nor reviewed, or nothing shows that it is broken;
                nothing was done.
            Refused: a second signature is missing, or over something else; nothing was done.
            Unavailable: the log cannot be written, or too few witnesses cosigned; call again.
        """
        require_reason(reason)
        with self._months.transaction() as session:  # 1
            left = self._withdraw(session, tasks, reason, cause=cause, who=who, signatures=signatures)
            for record in left if cause == "broken" else ():
                self._seal(session, record.id, evidence)
        on_step("withdraw")
        self._ledger.publish()  # 2
        on_step("publish")
        self.settle()  # 3
        on_step("refill")

    def to_sign(self, tasks: Sequence[str], reason: str, *, cause: Cause) -> list[UnsignedWithdrawal]:
        """Return what a second person signs of each of these tasks that would be withdrawn, where a set asks for it.

        Raises:
            NotFound: there is no such task.
            NotAllowed: a turn is under way.
        """
        homes = self._homes()
        unsigned = []
        for planned in self._planned(self._left(tasks, homes), homes):
            if keys := self._ledger.withdrawal_keys(planned.record.id):
                text = withdrawal_text(self._ledger.origin, Statement.parse(planned.leaf(cause, reason)))
                unsigned.append(UnsignedWithdrawal(planned.record.id, text, tuple(keys)))
        return unsigned

    def settle(self) -> None:
        """Complete every withdrawal that was begun (steps 2 and 3).

        Raises:
            Unavailable: the log cannot be written, or too few witnesses cosigned.
        """
        if not self._waiting():
            return
        head = self._ledger.publish()
        with self._months.transaction() as session:
            for task, index in self._waiting().items():  # asked again under the lock: somebody may have been faster
                if index < head.size:
                    self._vault.advance(task, "activate", session=session)

    def recorded(self) -> list[Withdrawn]:
        """List the withdrawals in the order of the ledger, including those not yet published."""
        gone = self._vault.records(TaskState.WITHDRAWN)
        leaf_of = {record.id: self._ledger.find(leaf_key(record.id)) for record in gone}
        homes = self._homes() if leaf_of else {}
        withdrawals = [self._withdrawn(index, homes) for index in leaf_of.values() if index is not None]
        return sorted(withdrawals, key=lambda withdrawal: withdrawal.leaf)

    def listed(self) -> list[Withdrawn]:
        """List the withdrawals that a published checkpoint covers, in the order of the ledger."""
        withdrawals = self.recorded()
        size = self._ledger.published.size if withdrawals else 0
        return [withdrawal for withdrawal in withdrawals if withdrawal.leaf < size]

    def uncounted(self) -> list[Withdrawn]:
        """List the published withdrawals of broken tasks, which count in no figure."""
        return [withdrawal for withdrawal in self.listed() if withdrawal.cause == "broken"]

    def entered(self) -> dict[str, Month]:
        """Map each task that ever belonged to a cohort to the month from which it could be served."""
        cohorts = {cohort.id: cohort.entered for cohort in self._months.cohorts()}
        return {
            task: self._withdrawn(since, {}).month if since else cohorts[cohort]
            for task, cohort, since in self._months.everybody()
        }

    def _withdraw(
        self,
        session: Session,
        tasks: Sequence[str],
        reason: str,
        *,
        cause: Cause,
        who: str,
        signatures: Mapping[str, Mapping[str, str]],
    ) -> list[TaskRecord]:
        """Record the withdrawal of those that are not withdrawn yet, and give them."""
        homes = self._homes()
        left = self._left(tasks, homes)
        planned_withdrawals = self._planned(left, homes)
        for record in left:
            self._vault.advance(record.id, "withdraw", session=session)
        for planned in planned_withdrawals:
            record, refill = planned.record, planned.refill
            statement = planned.leaf(cause, reason, signatures.get(record.id))
            index = self._ledger.record(leaf_key(record.id), statement, session=session)
            if record.id in homes:
                self._months.replace(session, record.id, index, (refill.id, refill.skeleton_tag) if refill else None)
            else:
                self._months.see(session, [record.skeleton_tag], "withdrawn", planned.month)
            self._findings.confirm(session, record.id, who=who, note=f"withdrawn at leaf {index}")
        return left

    def _homes(self) -> dict[str, str]:
        """Map each task that ever belonged to a cohort to that cohort."""
        return {task: cohort for task, cohort, _ in self._months.everybody()}

    def _left(self, tasks: Sequence[str], homes: Mapping[str, str]) -> list[TaskRecord]:
        """Return those that are not withdrawn yet, those in a reserve first."""
        records = [self._vault.record(task) for task in dict.fromkeys(tasks)]
        left = [record for record in records if record.state is not TaskState.WITHDRAWN]
        return sorted(left, key=lambda record: record.id in homes)

    def _planned(self, left: Sequence[TaskRecord], homes: Mapping[str, str]) -> list[_PlannedWithdrawal]:
        """Return what the ledger will say of each of those that it has a commitment to."""
        month = self._month()
        if month is None:
            return []
        reserve = self._reserve(month, homes)
        planned = []
        for record in left:
            if self._ledger.find(f"commit/{record.id}") is None:
                continue
            spares = reserve.get(str(Stratum.of(record)), [])
            if record in spares:
                spares.remove(record)
            refill = spares.pop(0) if record.id in homes and spares else None
            planned.append(_PlannedWithdrawal(record, refill, month))
        return planned

    def _seal(self, session: Session, task: str, evidence: Mapping[str, Mapping[str, Any]]) -> None:
        if task not in evidence:
            raise NotAllowed(
                f"nothing shows that task {task} is broken: prove it again first, or withdraw it as leaked"
            )
        self._vault.seal_blob(evidence_name(task), canonical(dict(evidence[task])), session)

    def _month(self) -> Month | None:
        """Return the live month, or None before the first one."""
        turns = self._months.turns()
        if turns and not turns[-1].finished:
            raise NotAllowed(
                f"the turn of {turns[-1].month} is under way, and tasks cannot be withdrawn meanwhile: finish it with "
                "`quarterturn turn run`, then withdraw"
            )
        return turns[-1].month.plus(1) if turns else None

    def _reserve(self, month: Month, homes: Mapping[str, str]) -> dict[str, list[TaskRecord]]:
        """Return each stratum's remaining reserve, in the order that the last `set` statement promised."""
        promised = self._ledger.statement(f"set/{month}").statement.predicate["reserve"]
        spare = {r.commitment.hex(): r for r in self._vault.records(TaskState.REVIEWED) if r.id not in homes}
        return {stratum: [spare[item] for item in order if item in spare] for stratum, order in promised.items()}

    def _waiting(self) -> dict[str, int]:
        """Map each replacement that is not live yet to the leaf that gave it its place."""
        refills = self._months.refills()
        reviewed = {record.id for record in self._vault.records(TaskState.REVIEWED)} if refills else set()
        return {task: index for task, index in refills.items() if task in reviewed}

    def _withdrawn(self, index: int, homes: Mapping[str, str]) -> Withdrawn:
        statement = Statement.parse(self._ledger.leaf(index))
        says: Mapping[str, Any] = statement.predicate
        return Withdrawn(
            statement.name,
            index,
            Month.parse(says["month"]),
            says["cause"],
            says["reason"],
            says["replacement"],
            homes.get(statement.name),
        )


def require_reason(reason: str) -> None:
    """Refuse a reason that is not valid for the ledger.

    Raises:
        Malformed: it is empty, too long, or has non-printable characters.
    """
    if not reason.strip() or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise Malformed(f"a reason has 1 to {LONGEST_REASON} printable characters, on one line")


def leaf_key(task: str) -> str:
    """Return the key under which the ledger has the withdrawal of a task."""
    return f"withdraw/{task}"


def evidence_name(task: str) -> str:
    """Return the name under which the vault has what shows that a withdrawn task is broken."""
    return f"broken/{task}"
