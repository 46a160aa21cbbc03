"""A retired month as a folder: `Historical-YYYY-MM`.

`BundleContent` is what the turn hands over; `write_bundle` writes it so that the folder is either absent or whole
(temporary sibling, fsync, rename). The manifest lists every content file with its digest, and its own digest is what
the `retire` leaf binds: so the order is content → `manifest_digest` → `retire` leaf → published checkpoint →
`write_bundle`. The log's files in the bundle are copied from the public log and prove themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TaskOpening:
    """A retired task, opened.

    Attributes:
        document: the task as it was committed to; its canonical bytes become a line of `tasks.jsonl`.
        salt: the commitment's salt, 32 bytes.
        commit: index of the task's `commit` leaf.
        provenance: the provenance document, where it is opened (its skeleton is spent), else None.
        provenance_salt: the salt of the provenance commitment; given exactly when `provenance` is.
    """

    document: Mapping[str, Any] = field(repr=False)
    salt: bytes = field(repr=False)
    commit: int
    provenance: Mapping[str, Any] | None = field(default=None, repr=False)
    provenance_salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ResultOpening:
    """One result of the retired cohort, opened.

    Attributes:
        position: its place among `RunOpening.commitments`.
        result: the document that was committed to (see `vault.ledger.results`).
        salt: its salt, 32 bytes.
    """

    position: int
    result: Mapping[str, Any] = field(repr=False)
    salt: bytes = field(repr=False)


@dataclass(frozen=True)
class RunOpening:
    """One run that named the retired cohort, opened as far as this retirement opens it.

    Attributes:
        run: its number.
        open_leaf: index of its `run-open` leaf.
        close_leaf: index of its `score` or `abort` leaf.
        opening: `{"submitter": pseudonym, "submission": digest, "attempt": n}`, what the `run-open` leaf commits to.
        salt: the salt of that commitment, 32 bytes.
        commitments: every result commitment of the run, all cohorts, in the order of `results_root` (by the bytes of
            the task's commitment). Empty for an aborted run. Only proofs made from them are written.
        results: the retired cohort's results: one for every task that was in the cohort when the run was opened,
            tasks withdrawn since included. Empty for an aborted run.
        totals: the totals of (run, retired cohort) that the `score` leaf commits to; None for an aborted run.
        totals_salt: their salt, 32 bytes; None for an aborted run.
    """

    run: int
    open_leaf: int
    close_leaf: int
    opening: Mapping[str, Any]
    salt: bytes = field(repr=False)
    commitments: Sequence[bytes] = field(default=(), repr=False)
    results: Sequence[ResultOpening] = field(default=(), repr=False)
    totals: Mapping[str, Any] | None = field(default=None, repr=False)
    totals_salt: bytes | None = field(default=None, repr=False)


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
        runs: every run whose `run-open` names the cohort, by run number, aborted ones too.
    """

    month: str
    cohort: str
    origin: str
    canary: str
    first: int
    tasks: Sequence[TaskOpening]
    runs: Sequence[RunOpening] = ()

    def manifest_digest(self) -> str:
        """Give the sha256 (hex) of `manifest.json`: the digest that the `retire` leaf names."""
        raise NotImplementedError


def write_bundle(folder: Path, content: BundleContent, log: Path) -> None:
    """Write the bundle to `folder`, copying the log's tiles and checkpoints from `log` (the public log folder).

    Call it when the public checkpoint covers the `retire` leaf. A bundle that is already there with the same manifest
    is left as it is.
    """
    raise NotImplementedError
