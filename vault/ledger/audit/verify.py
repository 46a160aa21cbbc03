"""The audit of a release, which trusts nobody but the keys that its caller gives.

Each step takes what those before it proved, and either says what it proves or shows what disagrees.
The first failure ends the argument. A doubt does not: it is what an honest operator can have a
reason for, and whoever asks must accept it by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from vault.errors import VaultError
from vault.ledger.audit.audit_state import AuditState, Outcome
from vault.ledger.audit.evidence_step import check_evidence
from vault.ledger.audit.log_steps import (
    check_checkpoints,
    check_consistency,
    check_files,
    check_head,
    check_leaves,
    check_retirement,
    check_statements,
)
from vault.ledger.audit.report import AuditReport, Step, caveats
from vault.ledger.audit.result_steps import (
    check_figures,
    check_full_score,
    check_results,
    check_runs,
    check_spot_check,
)
from vault.ledger.audit.task_steps import check_tasks
from vault.ledger.signatures.policy import Policy

STEPS: Mapping[str, Callable[[AuditState], Outcome]] = {
    "files": check_files,
    "checkpoint": check_head,
    "root": check_leaves,
    "statements": check_statements,
    "checkpoints": check_checkpoints,
    "retirement": check_retirement,
    "tasks": check_tasks,
    "runs": check_runs,
    "results": check_results,
    "figures": check_figures,
    "spot check": check_spot_check,
    "consistency": check_consistency,
    "full score": check_full_score,
    "evidence": check_evidence,
}
"""The steps in their order."""
LIES: Mapping[str, str] = {
    "files": "a file was edited, added or left out",
    "checkpoint": "a log of somebody else's, or one shown to you alone",
    "root": "a leaf was changed, moved or left out",
    "statements": "promises were changed, runs dropped or counted as later ones",
    "checkpoints": "a history made up afterwards",
    "retirement": "another opening than the one that was logged",
    "tasks": "a task was swapped or chosen after the scores",
    "runs": "bad runs were left out, or are somebody else's",
    "results": "results were edited or left out",
    "figures": "figures that nobody measured",
    "spot check": "results picked for being right",
    "consistency": "history was rewritten, or cut short, since you kept a checkpoint",
    "full score": "a part of a score is taken for the whole",
    "evidence": "an accusation of a submitter was made up",
}
"""The attack that each step stops."""


def audit(
    folder: Path,
    keys: Sequence[str],
    previous: str | None = None,
    policy: Policy | None = None,
    *,
    accepted: Collection[int] = (),
    evidence: Sequence[tuple[str, bytes]] = (),
    consistency: Sequence[bytes] | None = None,
    on_step: Callable[[int], None] = lambda _steps: None,
) -> AuditReport:
    """Audit a release; any defect becomes a failed step, never an exception.

    Args:
        folder: the release.
        keys: verifier keys of the log (`NAME+ID+KEY`), from anywhere but the release.
        previous: a signed checkpoint that the caller kept, if any.
        policy: which witnesses must have cosigned the log's heads, from anywhere but the release.
        accepted: the numbers of the doubts that the caller accepts.
        evidence: the name and the bytes of each file of evidence to check beside the release's own.
        consistency: a proof from the release's head to a `previous` that is newer, if any.
        on_step: called with 1 after each step.
    """
    case = AuditState(folder, list(keys), previous, policy or Policy(), evidence, consistency)
    steps: list[Step] = []
    for number, (name, check) in enumerate(STEPS.items(), 1):
        if steps and not steps[-1].ok:
            steps.append(Step(number, name, "not reached"))
            continue
        try:
            state, proved = check(case)
            steps.append(Step(number, name, state, proved))
        except VaultError as error:
            detail = str(error)
            steps.append(Step(number, name, "failed", "", error.rule, detail, error.evidence))
        on_step(1)
    head = case.times[case.head.size] if case.times else {}
    remarks = caveats(head, case.unchecked)
    return AuditReport(steps, case.doubts, accepted, case.pending, remarks)
