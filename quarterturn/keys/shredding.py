"""Shredding of tasks: destroys their data keys, and says which copies may still open them."""

from __future__ import annotations

from collections.abc import Sequence

from quarterturn.app import Application
from quarterturn.progress import Progress
from quarterturn.report import Report
from vault.store.shredding import erase

_ERASED = {
    True: "In the files of the database their data keys are overwritten.",
    False: "The database is in use, so its write-ahead file (-wal) still holds their data keys: run the same command "
    "again.",
    None: "PostgreSQL keeps old versions of their rows until it vacuums its tables, and longer in its own log.",
}


def shred(house: Application, task_ids: Sequence[str], who: str, progress: Progress) -> Report:
    """Shred drafts and rejected tasks; those that were shredded before are passed over.

    Raises:
        NotFound: there is no such task.
        Refused: one of them must not be shredded, and none was.
    """
    task_ids = list(dict.fromkeys(task_ids))
    with progress.progress("shredding", len(task_ids)) as advance:
        keys = sorted(house.drafts.shred(task_ids, who=who, done=lambda: advance(1)))
    erased = erase(house.engine)
    lines = [f"{len(task_ids)} tasks are shredded: their data keys and their evidence are gone, and their rows stay."]
    if keys:
        lines.append(f"Nothing proves it to others: older copies and backups still open them, with {', '.join(keys)}.")
    lines.append(_ERASED[erased])
    return Report({"shredded": list(task_ids), "keys": keys, "erased": erased}, lines)
