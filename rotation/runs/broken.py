"""Evidence that a task is broken: its line of a release's `broken.jsonl`, made by proving the task again."""

from __future__ import annotations

from typing import Any

from grammars.admission.broken import StateProver, wrong_verdict
from grammars.language.grammar import Draft
from rotation.errors import NotAllowed
from sandbox.errors import Malformed as StateMalformed
from vault.errors import Malformed
from vault.ledger.release.bundle_reader import MAX_LINE
from vault.ledger.release.openings import broken_line
from vault.store.tasks import Vault


def evidence_of(task: str, vault: Vault, prover: StateProver, *, who: str) -> dict[str, Any]:
    """Prove a task again, and give what shows that it is broken.

    Args:
        task: its id.
        vault: where it is sealed; the access log names the opening.
        prover: plays its solutions.
        who: the person who withdraws it.

    Raises:
        NotFound: there is no such task.
        NotAllowed: execution does not show that it is broken, or what shows it does not fit into a release.
        Exception: whatever the prover raises when its own machinery breaks; this says nothing about the task.
    """
    opened = vault.open(task, who=who, why="withdraw as broken: prove it again")
    try:
        wrong = wrong_verdict(Draft(opened.task.document, opened.provenance), prover)
        evidence = wrong.as_json() if wrong else {}
        size = len(broken_line({"task": task, **evidence})) + 1 if wrong else 0
    except (Malformed, StateMalformed):  # whose sentences may quote the task
        raise NotAllowed(f"what execution leaves of task {task} does not fit into a release; {_INSTEAD}") from None
    if not wrong:
        raise NotAllowed(
            f"task {task} is not broken as far as execution shows: no reference solution of it is judged false, and no "
            f"mutant is judged true; {_INSTEAD}"
        )
    if size > MAX_LINE:
        raise NotAllowed(
            f"what shows that task {task} is broken takes {size} bytes, and a line of a release has at most "
            f"{MAX_LINE}; {_INSTEAD}"
        )
    return evidence


_INSTEAD = "withdraw it with `--cause leak`, and the results that are bound go on counting"
