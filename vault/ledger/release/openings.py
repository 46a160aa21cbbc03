"""Openings of a task, a run and a result, and the bundle lines that they become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vault.commitment import commitment
from vault.ledger.release.contents import BROKEN, EVIDENCE, FORMS, OPENINGS, RESULTS, RUNS
from vault.ledger.statements.forms import require_form
from vault.ledger.statements.jcs import canonical
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash


@dataclass(frozen=True)
class TaskOpening:
    """A retired task, opened.

    Attributes:
        document: the task as it was committed to; its canonical bytes become a line of `tasks.jsonl`.
        salt: the commitment's salt, 32 bytes.
        commit: index of the task's `commit` leaf.
        provenance: the provenance document, where it is opened (its skeleton is spent), else None.
        provenance_salt: the salt of the provenance commitment; given exactly when `provenance` is.
        variant_key: the key that derives each run's variant, 32 bytes; given exactly when the document names its
            SHA-256 as `variant_key`.
    """

    document: Mapping[str, Any] = field(repr=False)
    salt: bytes = field(repr=False)
    commit: int
    provenance: Mapping[str, Any] | None = field(default=None, repr=False)
    provenance_salt: bytes | None = field(default=None, repr=False)
    variant_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ResultOpening:
    """One result of the retired cohort, opened.

    Attributes:
        position: its place among `RunOpening.commitments`.
        result: the document that was committed to (see `vault.ledger.statements.results`).
        salt: its salt, 32 bytes.
    """

    position: int
    result: Mapping[str, Any] = field(repr=False)
    salt: bytes = field(repr=False)


@dataclass(frozen=True)
class RunOpening:
    """One run that named the retired cohort; only the results of that cohort are opened.

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


def task_line(task: TaskOpening, canary: str) -> bytes:
    """Write a line of `openings.jsonl`."""
    line = {
        "id": task.document["id"],
        "salt": task.salt.hex(),
        "commitment": commitment("commit", canonical(task.document), task.salt).hex(),
        "commit": task.commit,
        "provenance": task.provenance,
        "provenance_salt": task.provenance_salt.hex() if task.provenance_salt else None,
        "canary": canary,
    }
    if task.variant_key is not None:
        line["variant_key"] = task.variant_key.hex()
    require_form(FORMS[OPENINGS], line, f"the opening of {task.document['id']}")
    return canonical(line)


def run_line(run: RunOpening) -> bytes:
    """Write a line of `runs.jsonl`."""
    line = {
        "run": run.run,
        "open": run.open_leaf,
        "close": run.close_leaf,
        "opening": dict(run.opening),
        "salt": run.salt.hex(),
        "totals": run.totals,
        "totals_salt": run.totals_salt.hex() if run.totals_salt else None,
    }
    require_form(FORMS[RUNS], line, f"the opening of run {run.run}")
    return canonical(line)


def broken_line(document: Mapping[str, Any]) -> bytes:
    """Write a line of `broken.jsonl`: what shows that a task was broken.

    Raises:
        Malformed: it has another form; the message quotes nothing of it.
    """
    require_form(FORMS[BROKEN], document, f"the evidence that {document['task']} is broken")
    return canonical(document)


def evidence_line(document: Mapping[str, Any]) -> bytes:
    """Write a line of `evidence.jsonl`; an evidence document that is a file of its own has the same bytes."""
    require_form(FORMS[EVIDENCE], document, f"the evidence on {document['task']}")
    return canonical(document)


def result_lines(run: RunOpening) -> Iterator[bytes]:
    """Write a run's lines of `results.jsonl`, with proofs made from all its commitments."""
    tree = MerkleTree(map(leaf_hash, run.commitments))
    for opened in sorted(run.results, key=lambda result: result.position):
        line = {
            "run": run.run,
            "position": opened.position,
            "result": dict(opened.result),
            "salt": opened.salt.hex(),
            "proof": [item.hex() for item in inclusion_proof(tree.node, opened.position, len(tree))],
        }
        require_form(FORMS[RESULTS], line, f"result {opened.position} of run {run.run}")
        yield canonical(line)
