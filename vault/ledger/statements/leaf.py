"""Builders of the log's leaves, one for each kind of statement.

A leaf's bytes are a statement in canonical JSON; `Statement.parse` reads it back. The kinds and their shapes are in
`vault.ledger.statements.statement`, the formats in `docs/reference/ledger-formats.md`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from vault.errors import Malformed
from vault.ledger.signatures.note import Signer
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.log_state import handover_text
from vault.ledger.statements.statement import STATEMENTS, TYPE, URN, Statement
from vault.ledger.tree.tiles import MAX_LEAF

__all__ = [
    "STATEMENTS",
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


def statement(kind: str, name: str, digest: str, predicate: Mapping[str, Any]) -> bytes:
    """Build a leaf of any kind.

    Args:
        kind: one of `STATEMENTS`.
        name: the subject's name.
        digest: the subject's digest in lower-case hex.
        predicate: JSON values of the kind's form.

    Raises:
        Malformed: a part has not the kind's form, or the leaf would be longer than 65,535 bytes.
    """
    if kind not in STATEMENTS:
        raise Malformed(f"there is no statement {kind!r}; there are {', '.join(STATEMENTS)}")
    subject = {"name": name, "digest": {STATEMENTS[kind][1]: digest}}
    document = {
        "_type": TYPE,
        "subject": [subject],
        "predicateType": URN.format(kind),
        "predicate": predicate,
    }
    leaf = canonical(document)
    Statement.parse(leaf, f"the {kind} statement")
    if len(leaf) > MAX_LEAF:
        raise Malformed(f"the {kind} statement has {len(leaf)} bytes; a leaf has at most {MAX_LEAF}")
    return leaf


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
    plan: Mapping[str, Any],
    servers: Mapping[str, str],
    judge: Mapping[str, str] | None = None,
    month_key: bytes | None = None,
    access_log: tuple[int, bytes] | None = None,
    spot_check: bytes | None = None,
    withdrawal_keys: Sequence[str] = (),
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
        plan: `{"cohorts": N, "lifetime": "P4M"}`: how many cohorts are live at once, and for how long each (ISO 8601).
        servers: the digest (hex) of each server that a live or a reserve task belongs to.
        judge: `{"anchors", "parameters", "rubric"}`, digests (hex) of what a judged run is judged with.
        month_key: the Ed25519 key (32 bytes) that signs the head over this statement, if one does.
        access_log: how many entries the operator's access log had, and a commitment to how it ended.
        spot_check: commitment to the seed that chooses which of the month's results are judged again.
        withdrawal_keys: verifier keys, one of which must sign each withdrawal beside the log; none: nobody must.
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
        "plan": dict(plan),
        "servers": dict(servers),
        **({} if judge is None else {"judge": dict(judge)}),
        **({} if month_key is None else {"month_key": month_key.hex()}),
        **({} if access_log is None else {"access_log": _access_log(*access_log)}),
        **({} if spot_check is None else {"spot_check": spot_check.hex()}),
        "withdrawal_keys": sorted(withdrawal_keys),
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
    judge: str | None = None,
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
        judge: the digest (hex) of the set's judge, for a judged run.
    """
    predicate: dict[str, Any] = {
        "run": run,
        "month": month,
        "track": track,
        "set": set_root.hex(),
        "cohorts": list(cohorts),
        "checkpoint": {"size": size, "root": root.hex()},
        **({} if judge is None else {"judge": judge}),
    }
    return statement("run-open", f"run/{run}", commitment.hex(), predicate)


def score(
    *,
    run: int,
    month: str,
    track: str,
    count: int,
    results_root: bytes,
    totals: Sequence[tuple[str, bytes]],
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
    draw_seeds: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """Open a retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: its id.
        manifest: sha256 (hex) of the bundle's manifest.
        tasks: `{"id", "commitment", "sha256"}` (hex; the hash of the canonical task), in the promised order.
        spot_check: `{"seed", "salt", "chosen", "judged", "differed"}`: what opens the month's seed (hex), and how many
            results it chose, were judged again, and came out otherwise; None where the month's set promised none.
        draw_seeds: `{"set", "seed", "salt"}` (hex) of each draw seed that it opens, by the index of the set.
    """
    predicate: dict[str, Any] = {
        "month": month,
        "cohort": cohort,
        "tasks": [dict(task) for task in tasks],
    }
    if spot_check is not None:
        predicate["spot_check"] = dict(spot_check)
    if draw_seeds:
        predicate["draw_seeds"] = [dict(item) for item in draw_seeds]
    return statement("retire", f"Historical-{month}", manifest, predicate)


def withdraw(
    task: str,
    commitment: bytes,
    *,
    month: str,
    cause: str,
    reason: str,
    replacement: str | None,
    signature: Mapping[str, str] | None = None,
) -> bytes:
    """Withdraw a task in an emergency.

    Args:
        task: its id.
        commitment: the commitment to it.
        month: `YYYY-MM`.
        cause: `leak` or `broken`.
        reason: in words, which are public.
        replacement: the id of the next of its stratum's reserve, or None.
        signature: `{"key", "signature"}` of a second person over `log_state.withdrawal_text`; None where none is asked.
    """
    predicate = {
        "month": month,
        "cause": cause,
        "reason": reason,
        "replacement": replacement,
        "signature": None if signature is None else dict(signature),
    }
    return statement("withdraw", task, commitment.hex(), predicate)


def sha256_hex(data: bytes) -> str:
    """Hash bytes for a digest field."""
    return hashlib.sha256(data).hexdigest()


def key(*, old: Signer, new: Signer, size: int) -> bytes:
    """Hand the log over: heads over more than `size` leaves, which is this leaf's index, are the new key's."""
    message = handover_text(old.verifier.vkey, new.verifier.vkey, size)
    signatures = {
        word: base64.b64encode(signer.key.sign(message)).decode() for word, signer in (("old", old), ("new", new))
    }
    predicate = {
        "old": old.verifier.vkey,
        "new": new.verifier.vkey,
        "size": size,
        "signatures": signatures,
    }
    return statement("key", new.name, sha256_hex(new.verifier.public), predicate)
