"""Public commitments to the head of the access log: made in each month's `set` statement, and checked later.

The log's hash chain alone cannot show that its end was truncated, nor that the whole log was rewritten. Each `set`
statement commits to the log's last digest with a salt, so the log's content stays between the operator and an auditor;
afterwards, truncating or rewriting contradicts the public statement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from vault.canonical import canonical
from vault.commitment import commitment, opens
from vault.errors import Broken
from vault.ledger.statements.statement import Statement
from vault.store.access_log import Head
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault

LABEL = "access-log"
_SEALED = "access-head/"
_SET = b'"urn:quarterturn:set:v1"'


def commit(session: Session, vault: Vault, month: Month, salt: bytes) -> tuple[int, bytes]:
    """Return the number of entries of the access log and a commitment to its last digest; the opening is sealed."""
    entries, digest = vault.access_head(session)
    opening = {"entries": entries, "digest": digest, "salt": salt.hex()}
    vault.seal_blob(f"{_SEALED}{month}", json.dumps(opening).encode(), session=session)
    return entries, commitment(LABEL, _payload(entries, digest), salt)


def committed(vault: Vault, ledger: PublicLog, *, who: str) -> list[Head]:
    """Return every head that the public log commits to, the oldest first; opening their salts is logged.

    Raises:
        Broken: a sealed opening is missing, or does not match its commitment.
    """
    sealed = vault.open_blobs(_SEALED, who=who, why="check the access log against the ledger")
    heads = []
    for leaf in ledger.leaves():
        says = Statement.parse(leaf).predicate if _SET in leaf else {}
        if "access_log" in says:
            heads.append(_opened(says["month"], says["access_log"], sealed))
    return heads


def _opened(month: str, says: Mapping[str, Any], sealed: Mapping[str, bytes]) -> Head:
    if month not in sealed:
        raise Broken(
            f"The sealed opening of the access-log head in the set statement of {month} is missing.",
            where=f"{_SEALED}{month}",
        )
    opening = json.loads(sealed[month])
    entries, digest, salt = opening["entries"], opening["digest"], bytes.fromhex(opening["salt"])
    right = opens(LABEL, _payload(entries, digest), salt, bytes.fromhex(says["commitment"]))
    if not right or entries != says["entries"]:
        raise Broken(
            f"The sealed access-log head does not match the commitment in the set statement of {month}.",
            where=f"{_SEALED}{month}: the number of entries and the commitment to the head",
            expected=[says["entries"], says["commitment"]],
            found=[entries, commitment(LABEL, _payload(entries, digest), salt)],
        )
    return Head(entries, digest, f"the set statement of {month}")


def _payload(entries: int, digest: str) -> bytes:
    return canonical({"digest": digest, "entries": entries})
