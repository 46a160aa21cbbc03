"""The statements that bind the operator before anything is served: `commit` for each task, `set` for each month."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotFound
from rotation.sets import Stratum
from rotation.store import Cohort, Months
from vault.commitment import commitment, new_salt
from vault.ledger import leaf, merkle
from vault.ledger_store import Ledger
from vault.lifecycle import State
from vault.store import TaskRecord, Vault


def record_commit(session: Session, vault: Vault, ledger: Ledger, task_id: str) -> int:
    """Record the `commit` leaf of a task and give its index; a second time gives the same one."""
    task = vault.record(task_id)
    statement = leaf.commit(
        task.id,
        task.commitment,
        provenance=task.provenance_commitment,
        spec=task.spec,
        public_grammar=task.public_grammar,
    )
    return ledger.record(f"commit/{task.id}", statement, session=session)


def record_set(
    session: Session,
    month: Month,
    vault: Vault,
    ledger: Ledger,
    months: Months,
    entropy: Callable[[int], bytes],
) -> dict[str, str]:
    """Record the `set` leaf of `month` and give the facts that later steps and runs need: its index and root.

    The seed from which the cohort after this one will be drawn is chosen now and committed to.
    """
    cohorts = months.cohorts("promised", "live")
    records = {task_id: vault.record(task_id) for cohort in cohorts for task_id in cohort.tasks}
    live = [record.commitment for record in records.values()]
    previous = ledger.find(f"set/{month.plus(-1)}")
    seen = months.seen()
    statement = leaf.set_of_tasks(
        month=str(month),
        previous=previous,
        root=merkle.set_root(live),
        cohorts=[_cohort(cohort, records) for cohort in cohorts],
        reserve=_reserve(vault, ledger, set(records)),
        counts={
            "unseen": sum(record.skeleton_tag not in seen for record in records.values()),
            "seen": sum(record.skeleton_tag in seen for record in records.values()),
        },
        next_draw=_next_draw(session, month, vault, entropy),
        public_grammar=any(record.public_grammar for record in records.values()),
    )
    index = ledger.record(f"set/{month}", statement, session=session)
    return {"set_leaf": str(index), "set_root": merkle.set_root(live).hex()}


def draw_seed(month: Month, vault: Vault, *, who: str) -> bytes:
    """Give the seed from which the cohort that enters at the turn of `month` is drawn, 32 bytes.

    Raises:
        NotFound: the `set` statement of `month` has not been made.
    """
    from vault.errors import NotFound as NoBlob

    try:
        opened = vault.open_blob(f"draw-seed/{month}", who=who, why="draw the next cohort")
    except NoBlob as error:
        raise NotFound(f"no draw seed was committed for {month}: run the turn of {month.plus(-1)} first") from error
    return opened[:32]


def _next_draw(session: Session, month: Month, vault: Vault, entropy: Callable[[int], bytes]) -> bytes:
    seed, salt = entropy(32), new_salt(entropy)
    vault.seal_blob(f"draw-seed/{month}", seed + salt, session=session)
    return commitment("draw-seed", seed, salt)


def _cohort(cohort: Cohort, records: Mapping[str, TaskRecord]) -> dict[str, Any]:
    return {
        "id": cohort.id,
        "retires": str(cohort.retires),
        "count": len(cohort.tasks),
        "root": merkle.set_root([records[task_id].commitment for task_id in cohort.tasks]).hex(),
        "tasks": list(cohort.tasks),
    }


def _reserve(vault: Vault, ledger: Ledger, live: set[str]) -> dict[str, Sequence[str]]:
    """Give the committed spare tasks of each stratum in their order, which is that of their commitments."""
    reserve: dict[str, list[str]] = {}
    for task in sorted(vault.records(State.REVIEWED), key=lambda task: task.commitment):
        if task.id not in live and ledger.find(f"commit/{task.id}") is not None:
            stratum = Stratum(task.server, task.category, task.difficulty)
            reserve.setdefault(str(stratum), []).append(task.commitment.hex())
    return dict(reserve)
