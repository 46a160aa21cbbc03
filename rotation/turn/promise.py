"""The promises that bind the operator before a task is served: cohorts, `commit` leaves and the monthly `set` leaf."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.month.judge import JudgeDigests
from rotation.month.sets import SetSpec, Stratum
from rotation.month.store import JUDGE, Cohort, MonthStore
from rotation.turn import access_log_head, draw_seeds, spot_check
from rotation.turn.plan import Plan, committed
from vault.commitment import new_salt
from vault.ledger.statements import leaf
from vault.ledger.tree import merkle
from vault.store.public_log import PublicLog
from vault.store.tasks import TaskRecord, Vault
from vault.task.document import SPEC_VERSION


class Promises:
    """Service that records the promises of a turn.

    Args:
        vault: the sealed tasks.
        ledger: the public log.
        months: the store of cohorts.
        spec: the set, whose plan each `set` statement says.
        server_digest: gives the SHA-256 (hex) of a server's definition by its name.
        withdrawal_keys: verifier keys of second persons, of whom one must sign each withdrawal; none: nobody must.
        judge: gives what judges claims in the month's runs, or None; raises where it may not be named.
        entropy: random bytes.
    """

    def __init__(
        self,
        vault: Vault,
        ledger: PublicLog,
        months: MonthStore,
        spec: SetSpec,
        *,
        server_digest: Callable[[str], str],
        withdrawal_keys: Sequence[str] = (),
        judge: Callable[[], JudgeDigests | None] = lambda: None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._vault, self._ledger, self._months, self._spec = vault, ledger, months, spec
        self._server_digest, self._withdrawal_keys, self._entropy = server_digest, withdrawal_keys, entropy
        self._judge = judge

    def promise(self, session: Session, plan: Plan) -> None:
        """Record the cohorts that enter, and the `commit` leaf of each of their tasks and of each spare."""
        for retires, tasks in plan.enter.items():
            self._months.promise(session, plan.month.plus(1), retires, tasks)
            for task in tasks:
                self.record_commit(session, task.id)
        for spare in plan.reserve:
            self.record_commit(session, spare.id)

    def record_commit(self, session: Session, task_id: str) -> int:
        """Record the `commit` leaf of a task and give its index; idempotent."""
        task = self._vault.record(task_id)
        statement = leaf.commit(
            task.id,
            task.commitment,
            provenance=task.provenance_commitment,
            spec=SPEC_VERSION,
            public_grammar=task.public_grammar,
        )
        return self._ledger.record(f"commit/{task.id}", statement, session=session)

    def record_set(self, session: Session, month: Month, month_key: bytes) -> dict[str, str]:
        """Record the `set` leaf of `month` and give the facts that later steps and runs need: its index and root.

        The leaf names the public key that will sign the month's head.

        Two seeds are chosen now and committed to: the one from which the next cohort will be drawn, and the one that
        will choose which of the month's results are judged again (the spot check).
        """
        cohorts = self._months.cohorts("promised", "live")
        records = {task_id: self._vault.record(task_id) for cohort in cohorts for task_id in cohort.tasks}
        live, reserve = [record.commitment for record in records.values()], self._reserve()
        tasks = [*records.values(), *(spare for spares in reserve.values() for spare in spares)]
        previous = self._ledger.find(f"set/{month.plus(-1)}")
        seen, judge = self._months.seen(), self._judge()
        statement = leaf.set_of_tasks(
            month=str(month),
            previous=previous,
            root=merkle.set_root(live),
            cohorts=[_cohort(cohort, records) for cohort in cohorts],
            reserve={stratum: [task.commitment.hex() for task in rest] for stratum, rest in reserve.items()},
            counts={
                "unseen": sum(record.skeleton_tag not in seen for record in records.values()),
                "seen": sum(record.skeleton_tag in seen for record in records.values()),
            },
            next_draw=draw_seeds.promise(session, self._vault, month, self._entropy(32), new_salt(self._entropy)),
            public_grammar=any(record.public_grammar for record in records.values()),
            plan=self._spec.plan,
            servers={name: self._server_digest(name) for name in {task.server for task in tasks}},
            judge=judge.as_json() if judge else None,
            month_key=month_key,
            access_log=access_log_head.commit(session, self._vault, month, new_salt(self._entropy)),
            spot_check=spot_check.promise(session, self._vault, month, self._entropy(32), new_salt(self._entropy)),
            withdrawal_keys=self._withdrawal_keys,
        )
        index = self._ledger.record(f"set/{month}", statement, session=session)
        named = {JUDGE: judge.digest} if judge else {}
        return {"set_leaf": str(index), "set_root": merkle.set_root(live).hex(), **named}

    def activate(self, session: Session) -> None:
        """Make the promised cohorts and their tasks live."""
        for cohort in self._months.cohorts("promised"):
            for task_id in cohort.tasks:
                self._vault.advance(task_id, "activate", session=session)
            self._months.move(session, cohort.id, "live")

    def _reserve(self) -> dict[str, list[TaskRecord]]:
        """Return the committed spare tasks of each stratum, in the order of their commitments.

        The skeleton of each is neither live, nor seen, nor that of another spare, so that the next spare may always
        enter any cohort and none is ever skipped.
        """
        reserve: dict[str, list[TaskRecord]] = {}
        used = {*self._months.taken(), *self._months.seen()}
        for task in committed(self._vault):
            if task.skeleton_tag not in used:
                reserve.setdefault(str(Stratum.of(task)), []).append(task)
                used.add(task.skeleton_tag)
        return reserve


def _cohort(cohort: Cohort, records: Mapping[str, TaskRecord]) -> dict[str, Any]:
    return {
        "id": cohort.id,
        "retires": str(cohort.retires),
        "count": len(cohort.tasks),
        "root": merkle.set_root([records[task_id].commitment for task_id in cohort.tasks]).hex(),
        "tasks": list(cohort.tasks),
    }
