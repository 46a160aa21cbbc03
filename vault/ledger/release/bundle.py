"""Writer of a release bundle: the folder `Historical-YYYY-MM` that opens a retired cohort.

`BundleContent` is what the turn hands over; `write_bundle` writes it so that the folder is either absent or whole
(temporary sibling, fsync, rename). The manifest lists every content file with its digest, and its own digest is what
the `retire` leaf binds: so the order is content → `manifest_digest` → `retire` leaf → published checkpoint →
`write_bundle`. The log's files in the bundle are copied from the public log and prove themselves.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vault.errors import Refused, Unavailable
from vault.files import make_folder, sync, write_atomically
from vault.ledger.release.contents import (
    AGGREGATE,
    ATTESTATION,
    BROKEN,
    EVIDENCE,
    FORMAT,
    FORMS,
    LOG,
    MANIFEST,
    OPENINGS,
    PAGE,
    README,
    RESULTS,
    RUNS,
    TASKS,
    WITHDRAWN,
    aggregate,
    attestation,
    readme,
)
from vault.ledger.release.openings import (
    ResultOpening,
    RunOpening,
    TaskOpening,
    broken_line,
    evidence_line,
    result_lines,
    run_line,
    task_line,
)
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.statements.forms import require_form
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.leaf import sha256_hex
from vault.ledger.statements.results import totals_of
from vault.ledger.statements.statement import LoggedStatement, Statement
from vault.ledger.tree.tiles import (
    HEAD,
    KEPT,
    bundles_of,
    entries_path,
    folder_reader,
    tile_path,
    tiles_of,
    unpack_entries,
)

__all__ = ["BundleContent", "ResultOpening", "RunOpening", "TaskOpening", "write_bundle"]


@dataclass(frozen=True)
class BundleContent:
    """Everything that a retirement opens, known before the `retire` leaf is made.

    Attributes:
        month: `YYYY-MM` of the retirement.
        cohort: id of the cohort that retires, `cohort-YYYY-MM`.
        origin: the log's origin line.
        canary: the GUID of this retirement (a random UUID in lower case), so that a text that contains it was taken
            from here.
        first: index of the first leaf that the bundle must show: the first `commit` leaf of any task that was ever in
            the cohort, withdrawn ones too, or anything before it.
        tasks: the retired tasks, in the order in which the last `set` statement promised them.
        withdrawn: the tasks that were withdrawn from the cohort, and from reserves since the retirement before, in the
            order of their `withdraw` leaves.
        runs: every run whose `run-open` names the cohort, by run number, aborted ones too.
        broken: the lines that show which withdrawn tasks were broken (`vault.ledger.release.contents.FORMS`).
        evidence: the evidence documents that maintainers had published of it.
        page: the page that checks the bundle in a browser (`vault.ledger.browser`), if it is to carry one.
    """

    month: str
    cohort: str
    origin: str
    canary: str
    first: int
    tasks: Sequence[TaskOpening]
    runs: Sequence[RunOpening] = ()
    withdrawn: Sequence[TaskOpening] = ()
    page: bytes | None = field(default=None, repr=False)
    broken: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    evidence: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    def files(self) -> dict[str, bytes]:
        """Return every content file by name, and `manifest.json`, which lists them.

        Raises:
            Malformed: a part has not its shape, or a task and its salt do not belong to it.
        """
        content = _content_files(self)
        about = {"month": self.month, "cohort": self.cohort, "origin": self.origin, "canary": self.canary}
        content[README] = readme({**about, "files": {*content, README}})
        listed = {name: {"bytes": len(data), "sha256": sha256_hex(data)} for name, data in content.items()}
        manifest = {
            "format": FORMAT,
            "month": self.month,
            "cohort": self.cohort,
            "origin": self.origin,
            "canary": self.canary,
            "first": self.first,
            "files": listed,
        }
        require_form(FORMS[MANIFEST], manifest, "the manifest")
        return content | {MANIFEST: canonical(manifest)}

    def manifest_digest(self) -> str:
        """Return the sha256 (hex) of `manifest.json`: the digest that the `retire` leaf names."""
        return sha256_hex(self.files()[MANIFEST])


def write_bundle(folder: Path, content: BundleContent, log: Path) -> None:
    """Write the bundle to `folder`, copying the log's tiles and checkpoints from `log` (the public log folder).

    Call it when the public checkpoint covers the `retire` leaf. A bundle that is already there with the same manifest
    is left as it is.

    Raises:
        Refused: the checkpoint covers no `retire` leaf with this manifest, or another bundle is there already.
        Malformed: a part has not its shape.
        Unavailable: the disk failed; nothing is there, call again.
    """
    files = content.files()
    try:
        if folder.exists():
            _require_same(folder, files[MANIFEST])
            return
        write_whole(folder, files | _log_files(log, content))
    except OSError as error:
        raise Unavailable(f"the release {folder} cannot be written: {error.strerror or error}; call again") from error


def _content_files(content: BundleContent) -> dict[str, bytes]:
    runs = sorted(content.runs, key=lambda run: run.run)
    more = {} if content.page is None else {PAGE: content.page}
    if content.withdrawn:
        more[WITHDRAWN] = _lines(canonical(task.document) for task in content.withdrawn)
    if content.evidence:
        more[EVIDENCE] = _lines(map(evidence_line, content.evidence))
    if content.broken:
        more[BROKEN] = _lines(map(broken_line, content.broken))
    return more | {
        TASKS: _lines(canonical(task.document) for task in content.tasks),
        OPENINGS: _lines(task_line(task, content.canary) for task in (*content.tasks, *content.withdrawn)),
        RUNS: _lines(run_line(run) for run in runs),
        RESULTS: _lines(line for run in runs for line in result_lines(run)),
        AGGREGATE: aggregate(content.month, content.cohort, list(_counted(content, runs))),
        ATTESTATION: attestation(
            content.month,
            content.cohort,
            [(str(task.document["id"]), sha256_hex(canonical(task.document))) for task in content.tasks],
        ),
    }


def _counted(
    content: BundleContent, runs: Iterable[RunOpening]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the opening of each scored run, with its totals over the tasks that were not broken."""
    broken = {line["task"] for line in content.broken}
    for run in runs:
        if run.totals is not None:
            kept = [item.result for item in run.results if item.result["task"] not in broken]
            yield run.opening, totals_of(run.run, content.cohort, kept)


def _lines(items: Iterable[bytes]) -> bytes:
    return b"".join(item + b"\n" for item in items)


def _log_files(log: Path, content: BundleContent) -> dict[str, bytes]:
    """Copy the proofs: the head, every hash tile, the leaves from `first` on, and the checkpoints that runs name."""
    read = folder_reader(log)
    note = read(HEAD)
    head = Checkpoint.parse(take_apart(note)[0])
    files = {HEAD: note}
    for level, index, width in tiles_of(head.size):
        path = tile_path(level, index, width)
        files[path] = read(path)
    leaves: list[bytes] = []
    for index, width in bundles_of(head.size, content.first):
        path = entries_path(index, width)
        files[path] = read(path)
        leaves += unpack_entries(files[path], width, path)
    statements = [LoggedStatement(index, Statement.parse(leaf)) for index, leaf in enumerate(leaves)]
    _require_retired(statements, content, head.size)
    for size in _checkpoints(statements, content, log, head.size):
        files[f"{KEPT}/{size}"] = read(f"{KEPT}/{size}")
    return {f"{LOG}/{path}": data for path, data in files.items()}


def _checkpoints(statements: Sequence[LoggedStatement], content: BundleContent, log: Path, size: int) -> Iterable[int]:
    """Return the sizes of the checkpoints that runs name, and of those that show when a leaf was seen.

    That is the first cosigned one over each set, withdrawal and retirement, and over the opening and closing of each
    run that was served the cohort.
    """
    named = {entry.says["checkpoint"]["size"] for entry in statements if entry.statement.kind == "run-open"}
    runs = {run.run for run in content.runs}
    dated = [
        entry.index
        for entry in statements
        if entry.statement.kind in {"set", "withdraw", "retire"} or entry.says.get("run") in runs
    ]
    kept = sorted(int(path.name) for path in (log / KEPT).iterdir() if path.name.isdecimal())
    signatures = {other: take_apart((log / KEPT / str(other)).read_bytes())[1] for other in kept if other < size}
    cosigned = [other for other, lines in signatures.items() if len(lines) > 1]
    places = {bisect_right(cosigned, index) for index in dated}
    return sorted(named | {cosigned[place] for place in places if place < len(cosigned)})


def _require_retired(statements: Sequence[LoggedStatement], content: BundleContent, size: int) -> None:
    digest = content.manifest_digest()
    if not any(item.statement.kind == "retire" and item.digest == digest for item in statements):
        raise Refused(
            f"the published checkpoint (size {size}) covers no retire statement with the manifest {digest}: "
            "record the statement and publish the log first"
        )


def _require_same(folder: Path, manifest: bytes) -> None:
    existing = folder / MANIFEST
    if not existing.is_file() or existing.read_bytes() != manifest:
        raise Refused(f"{folder} is there already and holds something else; move it away first")


def write_whole(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder with its files so that after a crash it is there whole or not at all.

    Where the last call fails, its name is removed: it may not be on the disk, and must not appear to be.
    """
    sibling = folder.with_name(f".{folder.name}.new")
    if sibling.exists():
        shutil.rmtree(sibling)
    make_folder(folder.parent)
    sibling.mkdir()
    for path, data in files.items():
        write_atomically(sibling / path, data, sibling / ".new")
    sync(sibling)
    sibling.rename(folder)
    try:
        sync(folder.parent)
    except OSError:
        with suppress(OSError):
            folder.rename(sibling)
        raise
