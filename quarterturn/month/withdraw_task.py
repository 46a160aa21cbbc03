"""Withdrawal of tasks, with its approval.

It needs one maintainer, or two where the rules say so; they sign for the tasks, the cause and the reason. Tasks that
are withdrawn already need no new approval: withdrawing them again finishes what was begun. What is withdrawn as broken
is proven again first, so nobody is asked to sign for a task that works.

Where a `set` statement named keys of second persons, one of them signs each leaf too (`second_signature`); that is
asked for before a request is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterturn.choices import BoxName
from quarterturn.month.second_signature import NOBODY, SecondPerson
from rotation.runs.withdrawal import Cause, Withdrawals, Withdrawn, require_reason
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskEvent, TaskState, advance

LONGEST_SUBJECT = 200


class ApprovedWithdrawals:
    """The withdrawals of one home's tasks.

    Args:
        vault: the sealed tasks, and the access log.
        require: allows an act, or refuses it until two maintainers have signed for it.
        withdrawals: withdraws tasks, and lists those that a published checkpoint covers.
        prove: proves a task again for somebody, and gives what shows that it is broken (`rotation.runs.broken`).
        after: rewrites what is public of them.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        require: Callable[..., None],
        withdrawals: Withdrawals,
        prove: Callable[[str, str, BoxName | None], Mapping[str, Any]],
        after: Callable[[], None],
    ) -> None:
        self._vault, self._require, self._withdrawals = vault, require, withdrawals
        self._prove, self._after = prove, after

    def withdraw(
        self,
        tasks: Sequence[str],
        reason: str,
        *,
        cause: Cause,
        who: str,
        box: BoxName | None = None,
        second: SecondPerson = NOBODY,
    ) -> Mapping[str, Withdrawn | None]:
        """Withdraw tasks, or finish withdrawing them; give what the log says of each, None for one never promised.

        Args:
            tasks: their ids.
            reason: the reason, which is public.
            cause: why; `broken` only if execution shows it, or nothing is done.
            who: the person who withdraws them.
            box: where broken tasks are proven again; by default where the settings say.
            second: where the second signature comes from, if a set asks for one.

        Raises:
            Unapproved: it takes a second signature, or two maintainers, and they have not signed.
            NotAllowed: execution does not show that a task is broken, or a second signature is not accepted.
            Malformed, NotFound, NotAllowed, Unavailable: see `rotation.runs.withdrawal.Withdrawals.withdraw`.
        """
        require_reason(reason)
        states = {task: self._vault.record(task).state for task in tasks}
        left = sorted(task for task, state in states.items() if state is not TaskState.WITHDRAWN)
        for task in left:
            advance(states[task], TaskEvent.WITHDRAW)  # two people are not asked about what cannot be
        evidence = {task: self._prove(task, who, box) for task in left} if cause == "broken" else {}
        signatures = second.sign(self._withdrawals.to_sign(left, reason, cause=cause)) if left else {}
        if left:
            detail = {"tasks": left, "cause": cause, "reason": reason}
            self._require("withdraw", _subject(left), detail, who=who)
            for task in left:
                self._vault.note(who=who, what=f"task/{task}", why=f"withdraw: {cause}: {reason}")
        self._withdrawals.withdraw(tasks, reason, cause=cause, who=who, evidence=evidence, signatures=signatures)
        self._after()
        entries = {entry.task: entry for entry in self._withdrawals.listed()}
        return {task: entries.get(task) for task in tasks}


def _subject(tasks: Sequence[str]) -> str:
    named = ", ".join(f"task/{task}" for task in tasks)
    return named if len(named) <= LONGEST_SUBJECT else f"{len(tasks)} tasks"
