"""Exports of evidence: a document that anybody can check opens one result that a finding rests on.

A transcript is its submitter's, also once its task is public, so an export may need two maintainers
(`quarterturn.approvals`). It is asked for before anything is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotAllowed, Refused
from rotation.detection.evidence import EvidenceWriter
from rotation.findings.store import Finding, Findings, PublishedEvidence
from rotation.month.store import MonthStore
from vault.files import write_atomically
from vault.ledger.release.bundle_reader import MAX_LINE
from vault.ledger.release.openings import evidence_line


class EvidenceExports:
    """The exports of evidence from one home.

    Args:
        writer: writes evidence documents.
        findings: the stored findings.
        months: whose cohorts are private.
        require: allows an act, or refuses it until two maintainers have signed for it.
    """

    def __init__(
        self, writer: EvidenceWriter, findings: Findings, months: MonthStore, require: Callable[..., None]
    ) -> None:
        self._writer, self._findings, self._months, self._require = writer, findings, months, require

    def chosen(self, number: int, task: str | None, run: int | None) -> PublishedEvidence:
        """Complete the name of a result by what the finding itself names.

        Raises:
            NotFound: there is no such finding.
            Malformed: the task or the run is named nowhere.
        """
        finding = self._findings.get(number)
        named_run, named_task = _named(finding)
        task, run = task or named_task, run or named_run
        if task is None or run is None:
            missing = " and ".join(name for name, value in (("--task", task), ("--run", run)) if value is None)
            raise Malformed(
                f"finding {number} ({finding.kind}: {finding.subject}) is about several results: add {missing}"
            )
        return PublishedEvidence(number, run, task)

    def write(self, chosen: PublishedEvidence, out: Path, *, who: str) -> dict[str, Any]:
        """Write the evidence document of a published task to a file; give it.

        Raises:
            Refused: the file is there already, or the finding is about something else.
            NotAllowed: the task is private.
            Unapproved: two maintainers have not signed.
        """
        if out.exists():
            raise Refused(f"{out} is there already, and is not written over: remove it, or name another file")
        self._writer.require_public(chosen.task)
        document = self._opened(chosen, who)
        write_atomically(out, evidence_line(document) + b"\n", out.with_name(f".{out.name}.part"))
        return document

    def publish(self, chosen: PublishedEvidence, *, who: str) -> None:
        """Have the release of the task's cohort carry the evidence.

        Raises:
            Refused: the finding is about something else, or the document is too long for a release.
            NotAllowed: the release is written, or a turn is under way.
            Unapproved: two maintainers have not signed.
        """
        self._require_before_release(chosen.task)
        size = len(evidence_line(self._opened(chosen, who)))
        if size > MAX_LINE // 2:  # runs that open meanwhile add recipients
            raise Refused(
                f"the evidence has {size} bytes, a release takes {MAX_LINE // 2}: write it to a file with --out"
            )
        with self._months.transaction() as session:
            self._require_before_release(chosen.task)  # asked again under the lock: a turn may have begun
            self._findings.publish_evidence(session, chosen, who=who)

    def _opened(self, chosen: PublishedEvidence, who: str) -> dict[str, Any]:
        finding = self._findings.get(chosen.finding)
        self._writer.require_about(finding, chosen.task, chosen.run)
        detail = {"finding": chosen.finding, "run": chosen.run, "task": chosen.task}
        self._require("export", f"evidence of finding {chosen.finding}", detail, who=who)
        return self._writer.document(
            finding, chosen.task, chosen.run, who=who, why=f"evidence of finding {finding.number}"
        )

    def _require_before_release(self, task: str) -> None:
        turns, home = self._months.turns(), self._months.home_of(task)
        if turns and not turns[-1].finished:
            raise NotAllowed(
                f"the turn of {turns[-1].month} is under way: finish it with `quarterturn turn run`, then do this again"
            )
        if home not in {cohort.id for cohort in self._months.cohorts("live")}:
            raise NotAllowed(f"task {task} is in no release to come: write its evidence to a file with --out")


def _named(finding: Finding) -> tuple[int | None, str | None]:
    """Return the run and the task that a finding names itself."""
    if finding.kind == "verdict":
        run, _, task = finding.subject.partition("/")
        return int(run), task
    return None, finding.subject if finding.kind in ("task", "exposure") else None
