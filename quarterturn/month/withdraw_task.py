"""Withdrawal of tasks: its approval, the act, and its report.

It needs one maintainer, or two where the rules say so; they sign for the tasks and the reason. Tasks that are withdrawn
already need no new approval: the verb then finishes what was begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quarterturn.app import Application
from quarterturn.approvals import approvals
from quarterturn.leaderboard import public_view
from quarterturn.report import Report
from rotation.runs import withdrawal
from rotation.runs.withdrawal import Withdrawn
from vault.task.lifecycle import TaskEvent, TaskState, advance

LONGEST_SUBJECT = 200


def withdraw(house: Application, tasks: Sequence[str], reason: str, *, who: str) -> Report:
    """Withdraw tasks, or finish withdrawing them.

    Raises:
        Unapproved: it takes two maintainers, and they have not signed.
        Malformed, NotFound, NotAllowed, Unavailable: see `rotation.runs.withdrawal.Withdrawals.withdraw`.
    """
    withdrawal.require_reason(reason)
    states = {task: house.vault.record(task).state for task in tasks}
    left = sorted(task for task, state in states.items() if state is not TaskState.WITHDRAWN)
    for task in left:
        advance(states[task], TaskEvent.WITHDRAW)  # two people are not asked about what cannot be
    if left:
        approvals.require(house, "withdraw", _subject(left), {"tasks": left, "reason": reason}, who=who)
        for task in left:
            house.vault.note(who=who, what=f"task/{task}", why=f"withdraw: {reason}")
    house.withdrawals.withdraw(tasks, reason, who=who)
    public_view.after(house, withdrawn=True)
    withdrawn = {entry.task: entry for entry in house.withdrawals.listed()}
    rows = [_row(task, withdrawn.get(task)) for task in dict.fromkeys(tasks)]
    return Report(rows, [_line(task, withdrawn.get(task)) for task in dict.fromkeys(tasks)])


def _subject(tasks: Sequence[str]) -> str:
    named = ", ".join(f"task/{task}" for task in tasks)
    return named if len(named) <= LONGEST_SUBJECT else f"{len(tasks)} tasks"


def _row(task: str, entry: Withdrawn | None) -> dict[str, Any]:
    if entry is None:
        return {"id": task, "leaf": None}
    return {
        "id": task,
        "leaf": entry.leaf,
        "month": str(entry.month),
        "reason": entry.reason,
        "cohort": entry.cohort,
        "replacement": entry.replacement,
    }


def _line(task: str, entry: Withdrawn | None) -> str:
    if entry is None:
        return f"{task} was withdrawn; it was never promised, so the log says nothing of it."
    if entry.cohort is None:
        return f"{task} left the reserve at leaf {entry.leaf}."
    took = (
        f"{entry.replacement} took its place" if entry.replacement else "no reserve was left, so its place stays empty"
    )
    return f"{task} was withdrawn from {entry.cohort} at leaf {entry.leaf}; {took}. It counts in no figure any more."
