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
from vault.ledger.release import contents
from vault.ledger.release.bundle_reader import MAX_WHOLE, Bundle
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.statements.history import History, LoggedRun, LoggedStatement
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.tiles import WIDTH, bundles_of, entries_path, unpack_entries

Item = Mapping[str, Any]


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
    history: History = field(repr=False)

    def check(self, evidence: Item) -> Sequence[str]:
        """Check one document of the right shape."""
        name, number, cohort = evidence["task"], evidence["run"], evidence["result"]["cohort"]
        task, run = self.tasks.get(name), self.history.runs.get(number)
        if task is None:
            raise Broken(
                f"the release does not open task {name}: name the release of {cohort}", where="the evidence: task"
            )
        if run is None or run.close is None or run.close.statement.kind != "score":
            raise Broken(f"the log of the release has no score of run {number}", where="the evidence: run")
        shown = {self._recipient(n, run) for n, run in self.history.runs.items() if self._was_shown(run, name, cohort)}
        return accusation.check(evidence, task, run.open.statement, run.close.statement, shown)

    def _was_shown(self, run: LoggedRun, task: str, cohort: str) -> bool:
        """Say whether a run was opened while a task was in its set."""
        named = run.open.statement.predicate["cohorts"]
        return cohort in named and task in self.history.members(cohort, run.open.index)

    def _recipient(self, number: int, run: LoggedRun) -> tuple[str, str]:
        if number not in self.openings:
            raise Broken(f"the release does not open run {number}, which was shown the task", where=contents.RUNS)
        return self.openings[number]["submitter"], run.open.statement.predicate["month"]


def check(folder: Path, paths: Sequence[Path]) -> list[CheckedEvidence]:
    """Check the documents in some files, one a line, against a release that was audited before.

    Raises:
        NotFound: one of the files is not there.
        Malformed: one of them is too long to be evidence, or empty.
        VaultError: the release changed since it was audited.
    """
    documents = [(path, _lines(path)) for path in paths]
    release = _release(folder)
    return [
        _checked(release, f"{path}, line {number}" if len(lines) > 1 else str(path), line)
        for path, lines in documents
        for number, line in enumerate(lines, 1)
    ]


def _checked(release: _Release, what: str, line: bytes) -> CheckedEvidence:
    try:
        return CheckedEvidence(what, release.check(contents.EVIDENCE_LINE.parse(line, what)))
    except VaultError as error:
        return CheckedEvidence(what, error=error)


def _lines(path: Path) -> list[bytes]:
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    if not 0 < (size := path.stat().st_size) <= MAX_WHOLE:
        raise Malformed(f"{path} holds no evidence: it has {size} bytes, and evidence has 1 to {MAX_WHOLE}")
    return path.read_bytes().splitlines()


def _release(folder: Path) -> _Release:
    bundle = Bundle.read(folder)
    files = [name for name in (contents.TASKS, contents.WITHDRAWN) if name in bundle.manifest["files"]]
    tasks = [parse_canonical(line, name) for name in files for line in bundle.raw_lines(name)]
    runs = bundle.lines(contents.RUNS, contents.RUN_LINE)
    openings = {line["run"]: line["opening"] for _, line in runs}
    return _Release({task["id"]: task for task in tasks}, openings, History(_statements(bundle)))


def _statements(bundle: Bundle) -> Iterator[LoggedStatement]:
    size = Checkpoint.parse(take_apart(bundle.read_log(contents.HEAD))[0]).size
    for index, width in bundles_of(size, bundle.manifest["first"]):
        path = entries_path(index, width)
        for place, leaf in enumerate(unpack_entries(bundle.read_log(path), width, path)):
            yield LoggedStatement(index * WIDTH + place, Statement.parse(leaf))
