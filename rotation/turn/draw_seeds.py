"""Seeds of the monthly draws: promised in a `set` statement, used for one draw, and opened when all of it has left.

    1. promise   a seed is sealed and committed to in the `set` statement of a month
    2. draw      the tasks that are missing at that month's turn are drawn from it (`rotation.generation.replenish`)
    3. open      once every task whose `commit` leaf stands between that `set` statement and the next one was retired
                 or withdrawn, the next `retire` statement opens the seed, once; where no task was committed between
                 them, the first `retire` statement after the next `set` statement does

Whoever has a seed and the grammars can repeat its draw. So one task of it that is live or in a reserve keeps it closed,
and a task that was drawn for a turn and not promised at it never enters (`TaskRecord.may_enter`). The first cohorts
come from a seed that nobody promised, and that is never opened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotFound
from vault.commitment import commitment
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState

_SEED = "draw-seed"
_SIZE = 32  # bytes of a seed; what is sealed goes on with its salt
_LEFT = (TaskState.RETIRED, TaskState.PUBLISHED, TaskState.WITHDRAWN)


def promise(session: Session, vault: Vault, month: Month, seed: bytes, salt: bytes) -> bytes:
    """Seal the 32-byte seed of the draw for the turn of `month`, and give the commitment to it (step 1)."""
    vault.seal_blob(f"{_SEED}/{month}", seed + salt, session=session)
    return commitment(_SEED, seed, salt)


def draw_seed(month: Month, vault: Vault, *, who: str) -> bytes:
    """Return the seed from which the cohort that enters at the turn of `month` is drawn, 32 bytes (step 2).

    Raises:
        NotFound: the `set` statement of `month` has not been made.
    """
    if not vault.has_blob(f"{_SEED}/{month}"):
        raise NotFound(f"no draw seed was committed for {month}: run the turn of {month.plus(-1)} first")
    return vault.open_blob(f"{_SEED}/{month}", who=who, why="draw the next cohort")[:_SIZE]


class DrawSeeds:
    """What opens the draw seeds of one home.

    Args:
        vault: the tasks, and the sealed seeds.
        ledger: the public log, which says what was committed when, and what is open already.
    """

    def __init__(self, vault: Vault, ledger: PublicLog) -> None:
        self._vault, self._ledger = vault, ledger

    def openings(self, first: Month, month: Month, retiring: Collection[str], *, who: str) -> list[dict[str, Any]]:
        """Return the entries of the `retire` statement of `month`, by index; the same until it is recorded (step 3).

        Args:
            first: the month of the first `set` statement.
            month: the month whose turn it is.
            retiring: the tasks that the statement retires.
            who: opens the seeds, for the access log.
        """
        months = [first.plus(number) for number in range(month.since(first) + 1)]
        opened = {index for earlier in months[:-1] for index in self._opened(earlier)}
        left = {record.id for state in _LEFT for record in self._vault.records(state)} | {*retiring}
        sets = [(promised, self._ledger.index_of(f"set/{promised}")) for promised in months]
        return [
            self._opening(promised, index, f"publish {month.release}", who)
            for (promised, index), (_, following) in pairwise(sets)
            if index not in opened and self._committed(index, following) <= left
        ]

    def _opened(self, month: Month) -> Iterator[int]:
        """Yield the indexes of the sets whose seeds the `retire` statement of a month opened."""
        if self._ledger.find(f"retire/{month}") is not None:
            says = self._ledger.statement(f"retire/{month}").statement.predicate
            yield from (opening["set"] for opening in says.get("draw_seeds", ()))

    def _committed(self, start: int, end: int) -> set[str]:
        """Return the ids of the tasks whose `commit` leaves stand between two leaves."""
        prefix = "commit/"
        return {key.removeprefix(prefix) for key in self._ledger.keys(prefix, start, end)}

    def _opening(self, month: Month, index: int, why: str, who: str) -> dict[str, Any]:
        sealed = self._vault.open_blob(f"{_SEED}/{month}", who=who, why=why)
        return {"set": index, "seed": sealed[:_SIZE].hex(), "salt": sealed[_SIZE:].hex()}
