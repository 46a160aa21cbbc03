"""Writer of a release bundle: the folder `Historical-YYYY-MM` that opens a retired cohort.

`BundleContent` is what the turn hands over; `write_bundle` writes it so that the folder is either absent or whole
(temporary sibling, fsync, rename). The manifest lists every content file with its digest, and its own digest is what
the `retire` leaf binds: so the order is content → `manifest_digest` → `retire` leaf → published checkpoint →
`write_bundle`. The log's files in the bundle are copied from the public log and prove themselves.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vault.errors import Refused, Unavailable
from vault.files import make_folder, sync_folder, write_atomically
from vault.ledger.release.contents import (
    AGGREGATE,
    ATTESTATION,
    BROKEN,
    FORMAT,
    HEAD,
    KEPT,
    LOG,
    MANIFEST,
    MANIFEST_SHAPE,
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
    result_lines,
    run_line,
    task_line,
)
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.leaf import sha256_hex
from vault.ledger.statements.results import counted
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.tiles import bundles_of, entries_path, folder_reader, tile_path, tiles_of, unpack_entries

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
            order of their `withdraw` leaves; those withdrawn as broken with their evidence.
        runs: every run whose `run-open` names the cohort, by run number, aborted ones too.
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

    def files(self) -> dict[str, bytes]:
        """Give every content file by name, and `manifest.json`, which lists them.

        Raises:
            Malformed: a part has not its shape, or a task and its salt do not belong to it.
        """
        content = _content_files(self)
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
        MANIFEST_SHAPE(manifest, "the manifest")
        return content | {MANIFEST: canonical(manifest)}

    def manifest_digest(self) -> str:
        """Give the sha256 (hex) of `manifest.json`: the digest that the `retire` leaf names."""
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
        raise Unavailable(f"the bundle {folder} cannot be written: {error.strerror or error}; call again") from error


def _content_files(content: BundleContent) -> dict[str, bytes]:
    runs = sorted(content.runs, key=lambda run: run.run)
    more = {} if content.page is None else {PAGE: content.page}
    if content.withdrawn:
        more[WITHDRAWN] = _lines(canonical(task.document) for task in content.withdrawn)
    if broken := _broken(content):
        more[BROKEN] = _lines(broken_line(task, evidence) for task, evidence in broken.items())
    return more | {
        README: readme(
            content.month,
            content.cohort,
            content.origin,
            content.canary,
            page=content.page is not None,
            withdrawn=bool(content.withdrawn),
            broken=bool(broken),
        ).encode(),
        TASKS: _lines(canonical(task.document) for task in content.tasks),
        OPENINGS: _lines(task_line(task, content.canary) for task in (*content.tasks, *content.withdrawn)),
        RUNS: _lines(run_line(run) for run in runs),
        RESULTS: _lines(line for run in runs for line in result_lines(run)),
        AGGREGATE: b"".join(aggregate(content.month, content.cohort, list(_counted(content, runs)))),
        ATTESTATION: attestation(
            content.month,
            content.cohort,
            [(str(task.document["id"]), sha256_hex(canonical(task.document))) for task in content.tasks],
        ),
    }


def _broken(content: BundleContent) -> dict[str, Mapping[str, Any]]:
    """Map each task that was withdrawn as broken to what shows it, in the order of `withdrawn`."""
    return {str(task.document["id"]): task.broken for task in content.withdrawn if task.broken is not None}


def _counted(
    content: BundleContent, runs: Iterable[RunOpening]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Give the opening of each scored run, with its totals without the tasks that were withdrawn as broken."""
    broken = _broken(content)
    for run in runs:
        if run.totals is not None:
            yield run.opening, counted(run.totals, [item.result for item in run.results], broken)


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
    statements = [Statement.parse(leaf) for leaf in leaves]
    _require_retired(statements, content, head.size)
    for size in {item.predicate["checkpoint"]["size"] for item in statements if item.kind == "run-open"}:
        files[f"{KEPT}/{size}"] = read(f"{KEPT}/{size}")
    return {f"{LOG}/{path}": data for path, data in files.items()}


def _require_retired(statements: Sequence[Statement], content: BundleContent, size: int) -> None:
    digest = content.manifest_digest()
    if not any(item.kind == "retire" and item.digest == {"sha256": digest} for item in statements):
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
    sync_folder(sibling)
    sibling.rename(folder)
    try:
        sync_folder(folder.parent)
    except OSError:
        with suppress(OSError):
            folder.rename(sibling)
        raise
