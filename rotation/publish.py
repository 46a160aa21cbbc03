"""From a retired cohort to `Historical-YYYY-MM`: what is opened, the leaf that binds it, and the folder."""

from __future__ import annotations

from pathlib import Path

from sqlmodel import Session

from rotation.official import Official
from rotation.store import Cohort, Turn
from vault.canonical import canonical
from vault.ledger import leaf
from vault.ledger.bundle import BundleContent, TaskOpening, write_bundle
from vault.ledger_store import Ledger
from vault.store import Vault

WHO = "rotation"


def content(turn: Turn, cohort: Cohort, vault: Vault, ledger: Ledger, official: Official) -> BundleContent:
    """Gather everything that this retirement opens; the same turn always gives the same bytes."""
    tasks = [_opening(task_id, turn, vault, ledger) for task_id in cohort.tasks]
    return BundleContent(
        month=str(turn.month),
        cohort=cohort.id,
        origin=ledger.origin,
        canary=turn.facts["canary"],
        first=min(task.commit for task in tasks),
        tasks=tasks,
        runs=official.openings(cohort, why=f"publish {turn.month.release}"),
    )


def record_retirement(
    session: Session, turn: Turn, cohort: Cohort, opened: BundleContent, vault: Vault, ledger: Ledger
) -> int:
    """Record the `retire` leaf, which names the digest of the manifest, and give its index."""
    statement = leaf.retire(
        month=str(turn.month),
        cohort=cohort.id,
        manifest=opened.manifest_digest(),
        tasks=[
            {
                "id": task.document["id"],
                "commitment": vault.record(task.document["id"]).commitment.hex(),
                "sha256": leaf.sha256_hex(canonical(task.document)),
            }
            for task in opened.tasks
        ],
    )
    return ledger.record(f"retire/{turn.month}", statement, session=session)


def write(releases: Path, opened: BundleContent, ledger: Ledger) -> Path:
    """Write the release into `releases`, whole or not at all, and give its folder."""
    releases.mkdir(parents=True, exist_ok=True)
    folder = releases / f"Historical-{opened.month}"
    write_bundle(folder, opened, ledger.folder)
    return folder


def _opening(task_id: str, turn: Turn, vault: Vault, ledger: Ledger) -> TaskOpening:
    opened = vault.open(task_id, who=WHO, why=f"publish {turn.month.release}")
    return TaskOpening(
        document=opened.task.document,
        salt=opened.salt,
        commit=ledger.index_of(f"commit/{task_id}"),
        provenance=opened.provenance,
        provenance_salt=opened.provenance_salt,
    )
