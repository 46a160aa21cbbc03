"""Builders of the log's leaves, one for each kind of statement.

A leaf's bytes are a statement in canonical JSON; `Statement.parse` reads it back. The kinds and their shapes are in
`vault.ledger.statements.statement`, the formats in `docs/reference/ledger-formats.md`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from vault.ledger.signatures.note import Signer
from vault.ledger.statements import key_epochs
from vault.ledger.statements.statement import KINDS, Statement, statement

__all__ = [
    "KINDS",
    "Statement",
    "abort",
    "commit",
    "key",
    "retire",
    "run_open",
    "score",
    "set_of_tasks",
    "sha256_hex",
    "statement",
    "withdraw",
]


def commit(task: str, commitment: bytes, *, spec: str, provenance: bytes, public_grammar: bool) -> bytes:
    """Commit to a task: its id, its commitment, and the commitment to its provenance."""
    predicate = {"spec": spec, "provenance": provenance.hex(), "public_grammar": public_grammar}
    return statement("commit", task, commitment.hex(), predicate)


def set_of_tasks(
    *,
    month: str,
    root: bytes,
    previous: int | None,
    cohorts: Sequence[Mapping[str, Any]],
    reserve: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    next_draw: bytes,
    public_grammar: bool,
    month_key: bytes | None = None,
    access_log: tuple[int, bytes] | None = None,
    spot_check: bytes | None = None,
) -> bytes:
    """State which tasks are live, what will retire when, and the order of the reserve.

    Args:
        month: `YYYY-MM` that the set is for.
        root: root over all live tasks' commitments (`merkle.set_root`).
        previous: index of the last `set` leaf, None for the first.
        cohorts: the live cohorts, `{"id", "retires", "count", "root", "tasks"}` each: `tasks` are ids in the order in
            which they will retire, `root` (hex) is `merkle.set_root` over their commitments.
        reserve: commitments (hex) by stratum, in the order in which they will be used.
        counts: `{"unseen": n, "seen": n}`: live tasks of skeletons that nobody has seen, and of others.
        next_draw: commitment to the next cohort's draw seed.
        public_grammar: whether any live task was drawn from a public grammar.
        month_key: the Ed25519 key (32 bytes) that signs the head over this statement, if one does.
        access_log: how many entries the operator's access log had, and a commitment to how it ended.
        spot_check: commitment to the seed that chooses which of the month's results are judged again.
    """
    predicate = {
        "month": month,
        "previous": previous,
        "count": sum(item["count"] for item in cohorts),
        "cohorts": [dict(item) for item in cohorts],
        "reserve": {stratum: list(items) for stratum, items in reserve.items()},
        "counts": dict(counts),
        "next_draw": next_draw.hex(),
        "public_grammar": public_grammar,
        **({} if month_key is None else {"month_key": month_key.hex()}),
        **({} if access_log is None else {"access_log": _access_log(*access_log)}),
        **({} if spot_check is None else {"spot_check": spot_check.hex()}),
    }
    return statement("set", f"set/{month}", root.hex(), predicate)


def _access_log(entries: int, commitment: bytes) -> dict[str, Any]:
    return {"entries": entries, "commitment": commitment.hex()}


def run_open(
    *,
    run: int,
    commitment: bytes,
    month: str,
    track: str,
    set_root: bytes,
    cohorts: Sequence[str],
    size: int,
    root: bytes,
) -> bytes:
    """Announce a run before its first task is served.

    Args:
        run: its number; `commitment` hides whose it is.
        commitment: to `{"submitter", "submission", "attempt"}`, label `run-open`.
        month: `YYYY-MM`.
        track: `docker`, `endpoint` or `docker-model-gateway`, or another word.
        set_root: root of the last `set` statement.
        cohorts: ids of the cohorts that it is served.
        size: size of an earlier checkpoint that covers the commits of these cohorts and the `set` statement.
        root: that checkpoint's root.
    """
    predicate = {
        "run": run,
        "month": month,
        "track": track,
        "set": set_root.hex(),
        "cohorts": list(cohorts),
        "checkpoint": {"size": size, "root": root.hex()},
    }
    return statement("run-open", f"run/{run}", commitment.hex(), predicate)


def score(
    *, run: int, month: str, track: str, count: int, results_root: bytes, totals: Sequence[tuple[str, bytes]]
) -> bytes:
    """Commit to a run's results: `count` of them under `results_root`, and one commitment for each cohort's totals."""
    predicate = {
        "run": run,
        "month": month,
        "track": track,
        "count": count,
        "results_root": results_root.hex(),
        "totals": [{"cohort": name, "commitment": commitment.hex()} for name, commitment in totals],
    }
    return statement("score", f"run/{run}", results_root.hex(), predicate)


def abort(*, run: int, month: str, reason: str, commitment: bytes) -> bytes:
    """Close a run without a score; `commitment` repeats the `run-open` statement's."""
    return statement("abort", f"run/{run}", commitment.hex(), {"run": run, "month": month, "reason": reason})


def retire(
    *,
    month: str,
    cohort: str,
    manifest: str,
    tasks: Sequence[Mapping[str, str]],
    spot_check: Mapping[str, Any] | None = None,
) -> bytes:
    """Open a retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: its id.
        manifest: sha256 (hex) of the bundle's manifest.
        tasks: `{"id", "commitment", "sha256"}` (hex; the hash of the canonical task), in the promised order.
        spot_check: `{"seed", "salt", "chosen", "judged", "differed"}`: what opens the month's seed (hex), and how many
            results it chose, were judged again, and came out otherwise; None where the month's set promised none.
    """
    predicate: dict[str, Any] = {"month": month, "cohort": cohort, "tasks": [dict(task) for task in tasks]}
    if spot_check is not None:
        predicate["spot_check"] = dict(spot_check)
    return statement("retire", f"Historical-{month}", manifest, predicate)


def withdraw(task: str, commitment: bytes, *, month: str, cause: str, reason: str, replacement: str | None) -> bytes:
    """Withdraw a task in an emergency.

    Args:
        task: its id.
        commitment: its commitment.
        month: `YYYY-MM`.
        cause: `leak`, and the results that are bound already go on counting; or `broken`, and it counts in no run.
        reason: one line for people.
        replacement: the id of the next of its stratum's reserve, or None.
    """
    predicate = {"month": month, "cause": cause, "reason": reason, "replacement": replacement}
    return statement("withdraw", task, commitment.hex(), predicate)


def sha256_hex(data: bytes) -> str:
    """Hash bytes for a digest field."""
    return hashlib.sha256(data).hexdigest()


def key(*, old: Signer, new: Signer, size: int) -> bytes:
    """Hand the log over: heads over more than `size` leaves, which is this leaf's index, are the new key's."""
    message = key_epochs.text(old.verifier.vkey, new.verifier.vkey, size)
    signatures = {
        word: base64.b64encode(signer.key.sign(message)).decode() for word, signer in (("old", old), ("new", new))
    }
    predicate = {"old": old.verifier.vkey, "new": new.verifier.vkey, "size": size, "signatures": signatures}
    return statement("key", new.name, sha256_hex(new.verifier.public), predicate)
