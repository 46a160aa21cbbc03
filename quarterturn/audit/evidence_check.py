"""Check of evidence documents against a release that an audit has proved (`vault.ledger.audit.accusation`).

The release gives what the documents are compared with: the task, the run's statements, and every run that was opened
while the task was in its set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotFound
from vault.errors import Broken, VaultError
from vault.ledger.audit import accusation
from vault.ledger.audit.audit_state import AuditState
from vault.ledger.release import contents
from vault.ledger.statements.forms import require_form
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.log_state import LoggedRun, LogState

Item = Mapping[str, Any]
MAX_FILE = 64 << 20  # bytes of a file of evidence


@dataclass(frozen=True, slots=True)
class CheckedEvidence:
    """What came of one document: what it proved, or the error that refused it."""

    file: str
    proved: Sequence[str] = ()
    error: VaultError | None = None

    @property
    def ok(self) -> bool:
        """Whether the document holds."""
        return self.error is None

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values."""
        reason = self.error and {
            "error": str(self.error),
            "evidence": self.error.evidence and self.error.evidence.as_json(),
        }
        return {"file": self.file, "ok": self.ok, "proved": list(self.proved)} | (reason or {})

    def lines(self) -> Iterator[str]:
        """Write it for people."""
        yield f"{self.file}: {self.error or '; '.join(self.proved)}"
        if self.error is not None and self.error.evidence is not None:
            yield from (f"  {line}" for line in self.error.evidence.lines())


@dataclass(frozen=True, slots=True)
class _Release:
    """The parts of a proved release that evidence is compared with."""

    tasks: Mapping[str, Item] = field(repr=False)
    openings: Mapping[int, Item] = field(repr=False)
    log: LogState = field(repr=False)

    def check(self, evidence: Item) -> Sequence[str]:
        """Check one document of the right form."""
        name, number, cohort = evidence["task"], evidence["run"], evidence["result"]["cohort"]
        task, run = self.tasks.get(name), self.log.runs.get(number)
        if task is None:
            raise Broken(
                f"the release does not open task {name}: name the release of {cohort}", where="the evidence: task"
            )
        if run is None or run.close is None or not run.scored:
            raise Broken(f"the log of the release has no score of run {number}", where="the evidence: run")
        shown = {self._recipient(n, run) for n, run in self.log.runs.items() if name in run.served.get(cohort, ())}
        return accusation.check(evidence, task, run.open.statement, run.close.statement, shown)

    def _recipient(self, number: int, run: LoggedRun) -> tuple[str, str]:
        if number not in self.openings:
            raise Broken(f"the release does not open run {number}, which was shown the task", where=contents.RUNS)
        return self.openings[number]["submitter"], run.open.says["month"]


def check(case: AuditState, paths: Sequence[Path]) -> list[CheckedEvidence]:
    """Check the documents in some files, one a line, against a release.

    Args:
        case: the state of its audit, in which no step failed.
        paths: the files.

    Raises:
        NotFound: one of the files is not there.
        Malformed: one of them is too long to be evidence, or empty.
        VaultError: the release cannot be read any more.
    """
    documents = [(path, _lines(path)) for path in paths]
    release = _release(case)
    return [
        _checked(release, f"{path}, line {number}" if len(lines) > 1 else str(path), line)
        for path, lines in documents
        for number, line in enumerate(lines, 1)
    ]


def _checked(release: _Release, what: str, line: bytes) -> CheckedEvidence:
    try:
        document = parse_canonical(line, what)
        require_form(contents.FORMS[contents.EVIDENCE], document, what)
        return CheckedEvidence(what, release.check(document))
    except VaultError as error:
        return CheckedEvidence(what, error=error)


def _lines(path: Path) -> list[bytes]:
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    if not 0 < (size := path.stat().st_size) <= MAX_FILE:
        raise Malformed(f"{path} holds no evidence: it has {size} bytes, and evidence has 1 to {MAX_FILE}")
    return path.read_bytes().splitlines()


def _release(case: AuditState) -> _Release:
    bundle = case.bundle
    files = [name for name in (contents.TASKS, contents.WITHDRAWN) if name in bundle.manifest["files"]]
    tasks = {task["id"]: task for name in files for *_, task in bundle.lines(name)}
    openings = {opened.line["run"]: opened.line["opening"] for opened in case.runs}
    return _Release(tasks, openings, case.log)
