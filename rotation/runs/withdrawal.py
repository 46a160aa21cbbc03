"""Withdrawal of a leaked or broken task before its cohort retires, in three idempotent steps.

    1. withdraw  the task's state, its `withdraw` leaf, its replacement, and the review entry that closes the finding
                 are one transaction
    2. publish   the checkpoint that covers the leaf is published and cosigned; from here on no figure counts the task
    3. refill    only now may the replacement be served

Nobody chooses the replacement: it is the next task of the stratum's reserve in the order of the last `set` statement,
or none if the reserve is empty. A withdrawal that was killed anywhere is completed by the next withdrawal, the next run
that opens, or the next turn.

A run that was opened before still plays the task, and its result stays bound; scores are computed without it. A
withdrawn task is published with its cohort; one withdrawn from a reserve, with the next cohort that retires. A task
that was never committed to is withdrawn without a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import Malformed, NotAllowed
from rotation.month.sets import Stratum
from rotation.runs.books import Books
from vault.database import transaction
from vault.ledger.statements import leaf
from vault.ledger.statements.statement import Statement
from vault.store.tasks import TaskRecord
from vault.task.lifecycle import TaskState

STEPS = ("withdraw", "publish", "refill")
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A withdrawal as recorded in the ledger.

    Attributes:
        task: the task's id.
        leaf: the index of its leaf.
        month: the month in which it was withdrawn.
        reason: the public reason.
        replacement: the id of the task that replaced it, or None.
        cohort: the cohort that it belonged to, or None if it was in a reserve.
    """

    task: str
    leaf: int
    month: Month
    reason: str
    replacement: str | None
    cohort: str | None


def withdraw(
    books: Books, tasks: Sequence[str], reason: str, *, who: str, on_step: Callable[[str], None] = lambda _: None
) -> None:
    """Withdraw tasks, or complete their withdrawal; idempotent for tasks that are withdrawn already.

    Args:
        books: the stores and services of the home.
        tasks: their ids; those in a reserve are withdrawn first, so that none of them replaces another one.
        reason: the reason, which is public.
        who: the person who withdraws them.
        on_step: is called with the name of each step that is done.

    Raises:
        Malformed: the reason is not valid for the ledger.
        NotFound: there is no such task; nothing was done.
        NotAllowed: a turn is under way, or a task is neither live nor reviewed; nothing was done.
        Unavailable: the log cannot be written, or too few witnesses cosigned; call again.
    """
    require_reason(reason)
    with transaction(books.engine) as session:  # 1
        _withdraw(session, books, tasks, reason, who)
    on_step("withdraw")
    books.ledger.publish()  # 2
    on_step("publish")
    settle(books)  # 3
    on_step("refill")


def require_reason(reason: str) -> None:
    """Refuse a reason that is not valid for the ledger.

    Raises:
        Malformed: it is empty, too long, or has non-printable characters.
    """
    if not reason.strip() or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise Malformed(f"a reason has 1 to {LONGEST_REASON} printable characters, on one line")


def settle(books: Books) -> None:
    """Complete every withdrawal that was begun (steps 2 and 3).

    Raises:
        Unavailable: the log cannot be written, or too few witnesses cosigned.
    """
    if not _waiting(books):
        return
    head = books.ledger.publish()
    with transaction(books.engine) as session:
        for task, index in _waiting(books).items():  # asked again under the lock: somebody may have been faster
            if index < head.size:
                books.vault.advance(task, "activate", session=session)


def recorded(books: Books) -> list[Withdrawn]:
    """List the withdrawals in the order of the ledger, including those not yet published."""
    leaf_of = {record.id: books.ledger.find(_key(record.id)) for record in books.vault.records(TaskState.WITHDRAWN)}
    homes = {task: cohort for task, cohort, _ in books.months.everybody()} if leaf_of else {}
    withdrawals = [_withdrawn(books, index, homes) for index in leaf_of.values() if index is not None]
    return sorted(withdrawals, key=lambda withdrawal: withdrawal.leaf)


def listed(books: Books) -> list[Withdrawn]:
    """List the withdrawals that a published checkpoint covers, in the order of the ledger."""
    withdrawals = recorded(books)
    size = books.ledger.published.size if withdrawals else 0
    return [withdrawal for withdrawal in withdrawals if withdrawal.leaf < size]


def entered(books: Books) -> dict[str, Month]:
    """Map each task that ever belonged to a cohort to the month from which it could be served."""
    cohorts = {cohort.id: cohort.entered for cohort in books.months.cohorts()}
    return {
        task: _withdrawn(books, since, {}).month if since else cohorts[cohort]
        for task, cohort, since in books.months.everybody()
    }


def is_withdrawn(books: Books, task: str) -> bool:
    """Say whether the ledger has the withdrawal of a task, published or not."""
    return books.ledger.find(_key(task)) is not None


def _withdraw(session: Session, books: Books, tasks: Sequence[str], reason: str, who: str) -> None:
    month = _month(books)
    homes = {task: cohort for task, cohort, _ in books.months.everybody()}
    records = [books.vault.record(task) for task in dict.fromkeys(tasks)]
    left = sorted(
        (candidate for candidate in records if candidate.state is not TaskState.WITHDRAWN),
        key=lambda candidate: candidate.id in homes,
    )
    reserve = _reserve(books, month, homes) if month else {}
    for record in left:
        books.vault.advance(record.id, "withdraw", session=session)
        if month is None or books.ledger.find(f"commit/{record.id}") is None:
            continue
        spares = reserve.get(str(Stratum.of(record)), [])
        refill = None
        if record.id in homes:
            refill = spares.pop(0) if spares else None
        elif record in spares:
            spares.remove(record)
        statement = leaf.withdraw(
            record.id,
            record.commitment,
            month=str(month),
            reason=reason,
            replacement=refill.id if refill else None,
        )
        index = books.ledger.record(_key(record.id), statement, session=session)
        if record.id in homes:
            books.months.replace(session, record.id, index, (refill.id, refill.skeleton_tag) if refill else None)
        else:
            books.months.see(session, [record.skeleton_tag], "withdrawn", month)
        books.findings.confirm(session, record.id, who=who, note=f"withdrawn at leaf {index}", now=books.clock())


def _month(books: Books) -> Month | None:
    """Give the live month, or None before the first one."""
    turns = books.months.turns()
    if turns and not turns[-1].finished:
        raise NotAllowed(
            f"the turn of {turns[-1].month} is under way, and tasks cannot be withdrawn meanwhile: finish it with "
            "`quarterturn turn run`, then withdraw"
        )
    return turns[-1].month.plus(1) if turns else None


def _reserve(books: Books, month: Month, homes: Mapping[str, str]) -> dict[str, list[TaskRecord]]:
    """Give each stratum's remaining reserve, in the order that the last `set` statement promised."""
    promised = Statement.parse(books.ledger.leaf(books.leaf_index(f"set/{month}"))).predicate["reserve"]
    spare = {r.commitment.hex(): r for r in books.vault.records(TaskState.REVIEWED) if r.id not in homes}
    return {stratum: [spare[item] for item in order if item in spare] for stratum, order in promised.items()}


def _waiting(books: Books) -> dict[str, int]:
    """Map each replacement that is not live yet to the leaf that gave it its place."""
    refills = books.months.refills()
    reviewed = {record.id for record in books.vault.records(TaskState.REVIEWED)} if refills else set()
    return {task: index for task, index in refills.items() if task in reviewed}


def _withdrawn(books: Books, index: int, homes: Mapping[str, str]) -> Withdrawn:
    statement = Statement.parse(books.ledger.leaf(index))
    says: Mapping[str, Any] = statement.predicate
    return Withdrawn(
        statement.name,
        index,
        Month.parse(says["month"]),
        says["reason"],
        says["replacement"],
        homes.get(statement.name),
    )


def _key(task: str) -> str:
    return f"withdraw/{task}"
