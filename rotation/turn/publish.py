"""Release of a retired cohort as `Historical-YYYY-MM`: its content, the `retire` leaf that binds it, and the folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlmodel import Session

from rotation.month.store import Cohort, Turn
from rotation.runs import openings, withdrawal
from rotation.runs.books import Books
from vault.canonical import canonical
from vault.ledger.release.bundle import BundleContent, TaskOpening, write_bundle
from vault.ledger.statements import leaf


def content(books: Books, turn: Turn, cohort: Cohort) -> BundleContent:
    """Collect everything that this retirement publishes; the same turn always gives the same bytes."""
    page = turn.facts.get("page")
    tasks = [_opening(books, task_id, turn) for task_id in cohort.tasks]
    return BundleContent(
        month=str(turn.month),
        cohort=cohort.id,
        origin=books.log.origin,
        canary=turn.facts["canary"],
        first=0,  # the whole log: an auditor could not check what is left out
        tasks=tasks,
        withdrawn=[_opening(books, task_id, turn) for task_id in _withdrawn(books, turn, cohort)],
        runs=openings.of_cohort(books, cohort, why=f"publish {turn.month.release}"),
        page=books.months.page(page).encode() if page is not None else None,
    )


def record_retirement(
    session: Session, books: Books, opened: BundleContent, spot_check: Mapping[str, Any] | None
) -> int:
    """Record the `retire` leaf, which names the digest of the manifest, and give its index.

    Args:
        spot_check: the opening and the counts of the month's spot check; None if none was committed to.
    """
    statement = leaf.retire(
        month=opened.month,
        cohort=opened.cohort,
        manifest=opened.manifest_digest(),
        tasks=[
            {
                "id": task.document["id"],
                "commitment": books.vault.record(task.document["id"]).commitment.hex(),
                "sha256": leaf.sha256_hex(canonical(task.document)),
            }
            for task in opened.tasks
        ],
        spot_check=spot_check,
    )
    return books.ledger.record(f"retire/{opened.month}", statement, session=session)


def write(books: Books, releases: Path, opened: BundleContent) -> Path:
    """Write the release into `releases` atomically and give its folder."""
    releases.mkdir(parents=True, exist_ok=True)
    folder = releases / f"Historical-{opened.month}"
    write_bundle(folder, opened, books.log.folder)
    return folder


def _withdrawn(books: Books, turn: Turn, cohort: Cohort) -> list[str]:
    """Give the tasks withdrawn from the cohort, and from the reserve since the last turn, in the order of the log."""
    before, own = (books.ledger.find(f"retire/{month}") for month in (turn.month.plus(-1), turn.month))
    withdrawals = [entry for entry in withdrawal.recorded(books) if own is None or entry.leaf < own]
    spare = [entry.leaf for entry in withdrawals if entry.cohort is None and (before is None or before < entry.leaf)]
    return [entry.task for entry in withdrawals if entry.cohort == cohort.id or entry.leaf in spare]


def _opening(books: Books, task_id: str, turn: Turn) -> TaskOpening:
    opened = books.vault.open(task_id, who=openings.WHO, why=f"{openings.PUBLISH}{turn.month.release}")
    return TaskOpening(
        document=opened.task.document,
        salt=opened.salt,
        commit=books.leaf_index(f"commit/{task_id}"),
        provenance=opened.provenance,
        provenance_salt=opened.provenance_salt,
        variant_key=books.vault.variant_key(task_id) if opened.task.variant_key else None,
    )
