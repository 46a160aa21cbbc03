"""Audit of a `Historical-YYYY-MM` bundle that trusts nobody but the keys that the caller gives.

The argument, and the attack that each step stops:

 1. the files are those of the manifest                          a file was edited, added or left out
 2. a given key signed the log's checkpoint, a quorum cosigned   a log of somebody else's, or one shown to you alone
 3. the leaves and tiles rebuild the checkpoint's root           a leaf was changed, moved or left out
 4. every leaf is a statement in canonical bytes                 one leaf that two readers read differently
 5. every checkpoint that a run names is signed and of this log  a history made up afterwards
 6. the `retire` statement names this manifest                   another opening than the one that was logged
 7. every task opens its commitment                              a task was swapped after the scores
 8. retired = promised - withdrawn + refills, a quarter          tasks were chosen when they hurt
 9. commits stand before every run that used them                tasks were made to fit an agent
10. every run is closed, opened, of its track and in its order   bad runs were dropped, or counted as later ones
11. the results open and add up to the committed totals          results were edited or left out
12. aggregate, attestation and README follow from the above      figures that nobody measured
13. the log extends the checkpoint that the caller kept          history was rewritten since
14. a month's full score                                         pending until its last cohort is opened
15. what was judged again is what the promised seed chooses      results picked for being right

Each step returns a sentence that says what it proved, or raises with the bytes that disagree: the report shows them
beneath the step. The first failure ends the argument, because later steps rest on earlier ones. Standard library and
`cryptography` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vault.errors import VaultError
from vault.ledger.audit import log_steps, result_steps, spot_check_step, task_steps
from vault.ledger.audit.evidence import AuditState
from vault.ledger.audit.log_steps import Outcome
from vault.ledger.audit.report import AuditReport, Step, caveats
from vault.ledger.signatures.policy import Policy

STEPS: Mapping[str, Callable[[AuditState], Outcome]] = {
    "files": log_steps.files,
    "checkpoint": log_steps.checkpoint,
    "root": log_steps.root,
    "statements": log_steps.statements,
    "named checkpoints": log_steps.named,
    "retirement": log_steps.retirement,
    "commitments": task_steps.commitments,
    "promise": task_steps.promise,
    "order": task_steps.order,
    "runs": result_steps.runs,
    "results": result_steps.results,
    "figures": result_steps.figures,
    "consistency": log_steps.consistency,
    "full score": result_steps.full_score,
    "spot check": spot_check_step.spot_check,
}


def audit(folder: Path, keys: Sequence[str], previous: str | None = None, policy: Policy | None = None) -> AuditReport:
    """Audit a bundle; any defect becomes a failed step, never an exception.

    Args:
        folder: the bundle.
        keys: verifier keys of the log (`NAME+ID+KEY`), from anywhere but the bundle.
        previous: a signed checkpoint that the caller kept from before, if any.
        policy: which witnesses must have cosigned the log's head, from anywhere but the bundle; none if it is None.
    """
    case = AuditState(folder, list(keys), previous, policy)
    steps: list[Step] = []
    for number, name in enumerate(STEPS, 1):
        if steps and not steps[-1].ok:
            steps.append(Step(number, name, ok=False, proved="", state="not reached"))
        else:
            steps.append(_step(number, name, case))
    remarks = caveats(case.witnesses, case.unchecked)
    return AuditReport(all(step.ok for step in steps), steps, case.pending, remarks)


def _step(number: int, name: str, case: AuditState) -> Step:
    try:
        state, proved = STEPS[name](case)
    except VaultError as error:
        return Step(number, name, ok=False, proved="", detail=str(error), state="failed", evidence=error.evidence)
    return Step(number, name, ok=True, proved=proved, state=state)
