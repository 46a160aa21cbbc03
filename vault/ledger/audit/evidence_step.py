"""Audit step about evidence: what is said of a submitter follows from the release that was proved before.

Evidence that lies in the release and evidence that the caller has from elsewhere are checked alike.
The release gives what it is compared with: the task, the run's statements, and every run that was
opened while the task was in its set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from vault.errors import within
from vault.ledger.audit.accusation import check_accusation
from vault.ledger.audit.audit_state import AuditState, Outcome
from vault.ledger.release.contents import EVIDENCE, FORMS, RUNS, TASKS, WITHDRAWN
from vault.ledger.statements.forms import parse_form
from vault.ledger.statements.rules import disagreement


def check_evidence(case: AuditState) -> Outcome:
    """Check every document of evidence: the caller's, and those of the release."""
    listed = case.bundle.manifest["files"]
    own = case.bundle.lines(EVIDENCE) if EVIDENCE in listed else ()
    documents = chain(_given(case.evidence), ((where, value) for where, _, value in own))
    names = [name for name in (TASKS, WITHDRAWN) if name in listed]
    tasks: dict[str, Any] | None = None  # read once there is something to compare with them
    shown = []
    for where, document in documents:
        if tasks is None:
            tasks = {task["id"]: task for name in names for *_, task in case.bundle.lines(name)}
        with within(where):
            shown.append(f"{where}: {'; '.join(_check(case, tasks, document))}")
    if not shown:
        return "not asked", "there is no evidence to check"
    return "proved", f"the evidence holds (documents: {len(shown)}). {'. '.join(shown)}"


def _given(files: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, Any]]:
    """Read the documents in the caller's files, one a line: where each stands, and its value."""
    for name, data in files:
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            where = f"line {number} of {name}"
            yield where, parse_form(FORMS[EVIDENCE], line, where)


def _check(case: AuditState, tasks: Mapping[str, Any], evidence: Mapping[str, Any]) -> Sequence[str]:
    """Check one document of the right form."""
    name, cohort = evidence["task"], evidence["result"]["cohort"]
    run = case.log.runs.get(evidence["run"])
    if name not in tasks:
        what = f"the release does not open task {name}: name the release of {cohort}"
        raise disagreement("evidence.holds", "the evidence: task").with_message(what)
    if run is None or run.close is None or not run.scored:
        what = f"the log of the release has no score of run {evidence['run']}"
        raise disagreement("evidence.holds", "the evidence: run").with_message(what)
    submitters = {item.line["run"]: item.line["opening"]["submitter"] for item in case.runs}
    recipients = set()
    for number, other in case.log.runs.items():
        if name not in other.served.get(cohort, ()):
            continue
        if number not in submitters:
            what = f"the release does not open run {number}, which was shown the task"
            raise disagreement("evidence.holds", RUNS).with_message(what)
        recipients.add((submitters[number], other.open.says["month"]))
    leaves = run.open.statement, run.close.statement
    return check_accusation(evidence, tasks[name], *leaves, recipients)
