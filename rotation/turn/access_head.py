"""How the access log ended when a month's set was promised: committed to in public, and compared later.

The log's chain cannot show that its end was cut off, nor that it was made anew as a whole. Each `set` statement commits
to its last digest under a salt, so that who opens what stays between us and an auditor. From then on neither can be
done without contradicting what is public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.runs import openings
from rotation.runs.books import Books
from vault.canonical import canonical
from vault.commitment import commitment, new_salt, opens
from vault.errors import Broken
from vault.ledger.statements.statement import Statement
from vault.store.access_log import Head

LABEL = "access-log"
_SEALED = "access-head/"
_SET = b'"urn:quarterturn:set:v1"'


def commit(session: Session, books: Books, month: Month) -> tuple[int, bytes]:
    """Give how many entries the access log has and a commitment to the last, whose opening is sealed."""
    entries, digest = books.vault.access_head(session)
    salt = new_salt(books.entropy)
    opening = {"entries": entries, "digest": digest, "salt": salt.hex()}
    openings.seal(books, f"{_SEALED}{month}", opening, session)
    return entries, commitment(LABEL, _payload(entries, digest), salt)


def committed(books: Books, *, who: str) -> list[Head]:
    """Give every head that the public log commits to, the oldest first; their salts are opened, and the log says so.

    Raises:
        Broken: a sealed opening is missing, or is not what was committed to.
    """
    sealed = books.vault.open_blobs(_SEALED, who=who, why="check the access log against the ledger")
    found = []
    for leaf in books.ledger.leaves():
        says = Statement.parse(leaf).predicate if _SET in leaf else {}
        if "access_log" in says:
            found.append(_opened(says["month"], says["access_log"], sealed))
    return found


def _opened(month: str, says: Mapping[str, Any], sealed: Mapping[str, bytes]) -> Head:
    if month not in sealed:
        raise Broken(f"What the set statement of {month} commits to of the access log is no longer sealed here.")
    opening = json.loads(sealed[month])
    entries, digest, salt = opening["entries"], opening["digest"], bytes.fromhex(opening["salt"])
    right = opens(LABEL, _payload(entries, digest), salt, bytes.fromhex(says["commitment"]))
    if not right or entries != says["entries"]:
        raise Broken(f"What is sealed here of the access log is not what the set statement of {month} commits to.")
    return Head(entries, digest, f"the set statement of {month}")


def _payload(entries: int, digest: str) -> bytes:
    return canonical({"digest": digest, "entries": entries})
