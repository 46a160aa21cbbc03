"""The ledger statements that bind the operator before a task is served: `commit` per task, `set` per month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotFound
from rotation.month.sets import Stratum
from rotation.month.store import Cohort
from rotation.runs.books import Books
from rotation.turn import access_log_head, spot_check
from vault.commitment import commitment, new_salt
from vault.ledger.statements import leaf
from vault.ledger.tree import merkle
from vault.store.tasks import TaskRecord, Vault
from vault.task.document import SPEC_VERSION
from vault.task.lifecycle import TaskState


def record_commit(session: Session, books: Books, task_id: str) -> int:
    """Record the `commit` leaf of a task and give its index; idempotent."""
    task = books.vault.record(task_id)
    statement = leaf.commit(
        task.id,
        task.commitment,
        provenance=task.provenance_commitment,
        spec=SPEC_VERSION,
        public_grammar=task.public_grammar,
    )
    return books.ledger.record(f"commit/{task.id}", statement, session=session)


def record_set(session: Session, books: Books, month: Month, month_key: bytes) -> dict[str, str]:
    """Record the `set` leaf of `month` and give the facts that later steps and runs need: its index and root.

    The leaf names the public key that will sign the month's head.

    Two seeds are chosen now and committed to: the one from which the next cohort will be drawn, and the one that
    will choose which of the month's results are judged again (the spot check).
    """
    cohorts = books.months.cohorts("promised", "live")
    records = {task_id: books.vault.record(task_id) for cohort in cohorts for task_id in cohort.tasks}
    live = [record.commitment for record in records.values()]
    previous = books.ledger.find(f"set/{month.plus(-1)}")
    seen = books.months.seen()
    statement = leaf.set_of_tasks(
        month=str(month),
        previous=previous,
        root=merkle.set_root(live),
        cohorts=[_cohort(cohort, records) for cohort in cohorts],
        reserve=_reserve(books),
        counts={
            "unseen": sum(record.skeleton_tag not in seen for record in records.values()),
            "seen": sum(record.skeleton_tag in seen for record in records.values()),
        },
        next_draw=_next_draw(session, books, month),
        public_grammar=any(record.public_grammar for record in records.values()),
        month_key=month_key,
        access_log=access_log_head.commit(session, books, month),
        spot_check=spot_check.promise(session, books, month),
    )
    index = books.ledger.record(f"set/{month}", statement, session=session)
    return {"set_leaf": str(index), "set_root": merkle.set_root(live).hex()}


def draw_seed(month: Month, vault: Vault, *, who: str) -> bytes:
    """Give the seed from which the cohort that enters at the turn of `month` is drawn, 32 bytes.

    Raises:
        NotFound: the `set` statement of `month` has not been made.
    """
    if not vault.has_blob(f"draw-seed/{month}"):
        raise NotFound(f"no draw seed was committed for {month}: run the turn of {month.plus(-1)} first")
    return vault.open_blob(f"draw-seed/{month}", who=who, why="draw the next cohort")[:32]


def _next_draw(session: Session, books: Books, month: Month) -> bytes:
    seed, salt = books.entropy(32), new_salt(books.entropy)
    books.vault.seal_blob(f"draw-seed/{month}", seed + salt, session=session)
    return commitment("draw-seed", seed, salt)


def _cohort(cohort: Cohort, records: Mapping[str, TaskRecord]) -> dict[str, Any]:
    return {
        "id": cohort.id,
        "retires": str(cohort.retires),
        "count": len(cohort.tasks),
        "root": merkle.set_root([records[task_id].commitment for task_id in cohort.tasks]).hex(),
        "tasks": list(cohort.tasks),
    }


def _reserve(books: Books) -> dict[str, Sequence[str]]:
    """Give the committed spare tasks of each stratum, in the order of their commitments.

    The skeleton of each is neither live, nor seen, nor that of another spare, so that the next spare may always enter
    any cohort and none is ever skipped.
    """
    reserve: dict[str, list[str]] = {}
    used = {*books.months.taken(), *books.months.seen()}
    with closing(books.vault.by_commitment(TaskState.REVIEWED, leaf="commit/")) as committed:
        for task in committed:
            if task.skeleton_tag not in used:
                stratum = Stratum.of(task)
                reserve.setdefault(str(stratum), []).append(task.commitment.hex())
                used.add(task.skeleton_tag)
    return dict(reserve)
