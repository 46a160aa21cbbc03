"""A home's tasks with claims as cases for the check of its claim judge: reference answers are right, mutants wrong."""

from __future__ import annotations

from collections.abc import Iterator

from quarterturn_judge.cases import CheckCase, of_task
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState
from verifiers.language import predicate

WHY = "check the claim judge"
STATES = (TaskState.ADMITTED, TaskState.REVIEWED, TaskState.LIVE)


def cases_of(vault: Vault, who: str) -> Iterator[CheckCase]:
    """Yield a case for each task that waits or is live and has claims; each task that is opened is logged."""
    for state in STATES:
        for record in vault.records(state):
            opened = vault.open(record.id, who=who, why=WHY)
            task, provenance = opened.task.base(), opened.task.in_base(dict(opened.provenance))
            solutions, mutants = provenance.get("solutions", ()), provenance.get("mutants", ())
            case = of_task(task.id, task.goal, predicate.parse(task.success_predicate), solutions, mutants)
            if case is not None:
                yield case
