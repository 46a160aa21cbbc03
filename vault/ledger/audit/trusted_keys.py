"""Trust anchors of an audit: only the caller's keys and policy count, and never a key from the bundle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vault.errors import Broken, Malformed, VaultError
from vault.ledger.audit.evidence import AuditState
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Note, take_apart
from vault.ledger.signatures.policy import Policy, PolicyMember
from vault.ledger.statements.key_epochs import introduced
from vault.ledger.tree.tiles import HEAD, WIDTH, bundles_of, entries_path, unpack_entries


def open_head(case: AuditState, data: bytes) -> tuple[Checkpoint, Note]:
    """Open the head; if a given key introduced its signer, the error says so."""
    try:
        return open_checkpoint(data, case.verifiers)
    except VaultError as error:
        is_broken = isinstance(error, Broken)
        handover = _introduced(case, Checkpoint.parse(take_apart(data)[0])) if is_broken else None
        raise error.with_message(f"{error}; {handover}" if handover else str(error), f"log/{HEAD}") from None


def open_older(case: AuditState, data: str | bytes, what: str) -> tuple[Checkpoint, Note]:
    """Open a checkpoint that is older than the head; where the key of its size was not given, name that key."""
    try:
        return open_checkpoint(data, case.verifiers)
    except Malformed as error:
        raise error.with_message(str(error), what) from None
    except Broken as error:
        size = Checkpoint.parse(take_apart(data)[0]).size
        wanted = case.epochs.of(size)
        if wanted in (verifier.vkey for verifier in case.verifiers):
            raise error.with_message(str(error), what) from None
        message = f"{what}: {error}; at {size} leaves the log's key was {wanted}: give it too (--key)"
        raise error.with_message(message, what) from None


def policy_of(case: AuditState) -> Policy:
    """Give the caller's policy, or one without a quorum; where it names no log, the caller's keys stand for the log."""
    given = case.policy or Policy()
    return replace(given, logs=given.logs or [PolicyMember(verifier) for verifier in case.verifiers])


def require_quorum(case: AuditState, data: bytes, what: str) -> None:
    """Check that a checkpoint is cosigned as the caller's policy asks."""
    try:
        policy_of(case).open(data)
    except Broken as error:
        raise error.with_message(f"{what}: {error}", what) from None


def _introduced(case: AuditState, head: Checkpoint) -> str | None:
    if head.size > WIDTH * len(case.bundle.log_files):
        return None  # the next step refuses it
    try:
        return introduced(head.origin, _leaves(case, head.size), [verifier.vkey for verifier in case.verifiers])
    except (Broken, Malformed):
        return None  # the leaves cannot be read, and nobody vouched for the key


def _leaves(case: AuditState, size: int) -> Iterator[bytes]:
    """Give the leaves as they are in the bundle, proven or not."""
    for index, width in bundles_of(size):
        path = entries_path(index, width)
        yield from unpack_entries(case.bundle.read_log(path), width, f"log/{path}")
