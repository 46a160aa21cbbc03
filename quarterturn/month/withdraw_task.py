"""Withdrawal of tasks, with its approval.

It needs one maintainer, or two where the rules say so; they sign for the tasks and the reason. Tasks that are withdrawn
already need no new approval: withdrawing them again finishes what was begun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rotation.runs.withdrawal import Withdrawals, Withdrawn, require_reason
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskEvent, TaskState, advance

LONGEST_SUBJECT = 200


class ApprovedWithdrawals:
    """The withdrawals of one home's tasks.

    Args:
        vault: the sealed tasks, and the access log.
        require: allows an act, or refuses it until two maintainers have signed for it.
        withdrawals: withdraws tasks, and lists those that a published checkpoint covers.
        after: rewrites what is public of them.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        require: Callable[..., None],
        withdrawals: Withdrawals,
        after: Callable[[], None],
    ) -> None:
        self._vault, self._require, self._withdrawals, self._after = vault, require, withdrawals, after

    def withdraw(self, tasks: Sequence[str], reason: str, *, who: str) -> Mapping[str, Withdrawn | None]:
        """Withdraw tasks, or finish withdrawing them; give what the log says of each, None for one never promised.

        Raises:
            Unapproved: it takes two maintainers, and they have not signed.
            Malformed, NotFound, NotAllowed, Unavailable: see `rotation.runs.withdrawal.Withdrawals.withdraw`.
        """
        require_reason(reason)
        states = {task: self._vault.record(task).state for task in tasks}
        left = sorted(task for task, state in states.items() if state is not TaskState.WITHDRAWN)
        for task in left:
            advance(states[task], TaskEvent.WITHDRAW)  # two people are not asked about what cannot be
        if left:
            self._require("withdraw", _subject(left), {"tasks": left, "reason": reason}, who=who)
            for task in left:
                self._vault.note(who=who, what=f"task/{task}", why=f"withdraw: {reason}")
        self._withdrawals.withdraw(tasks, reason, who=who)
        self._after()
        entries = {entry.task: entry for entry in self._withdrawals.listed()}
        return {task: entries.get(task) for task in tasks}


def _subject(tasks: Sequence[str]) -> str:
    named = ", ".join(f"task/{task}" for task in tasks)
    return named if len(named) <= LONGEST_SUBJECT else f"{len(tasks)} tasks"
