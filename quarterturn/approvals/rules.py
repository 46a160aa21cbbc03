"""Approval rules in force: which acts need two maintainers, who these are, and the log's witness policy.

1. The rules in force are in the database, one row a change, each under a tag that needs the key ring; the access log
   notes each. The settings only propose.
2. The first rules are adopted as they are found. From then on the rules in force decide, whatever the settings say.
3. The witnesses' policy is part of the rules, by the SHA-256 of its file.

How a change comes into force is `quarterturn.approvals.approvals`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func
from sqlmodel import Session, select

from quarterturn import settings
from quarterturn.approvals.tables import RulesRow
from quarterturn.errors import Refused
from quarterturn.settings import public_key
from vault.canonical import canonical, digest
from vault.store import access_log

if TYPE_CHECKING:
    from quarterturn.app import Application


@dataclass(frozen=True)
class ApprovalRules:
    """Approval rules.

    Attributes:
        actions: the acts that need two maintainers.
        maintainers: the line of each one's public key, by name.
        witnesses: sha256 (hex) of the witnesses' policy, or None where nobody has to cosign.
        number: counts the rules that were in force, from 1; 0 for what is only proposed.
    """

    actions: tuple[str, ...]
    maintainers: Mapping[str, str]
    witnesses: str | None
    number: int = 0

    def key(self, name: str) -> bytes:
        """Give a maintainer's public key, 32 bytes."""
        return public_key(self.maintainers[name])

    def document(self) -> dict[str, Any]:
        """Give them as JSON values."""
        named = {name: " ".join(line.split()[:2]) for name, line in self.maintainers.items()}
        return {"actions": sorted(set(self.actions)), "maintainers": named, "witnesses": self.witnesses}

    def digest(self) -> str:
        """Give the SHA-256 of their canonical form, in hex."""
        return digest(self.document())


def proposed(house: Application) -> ApprovalRules:
    """Give the rules as the settings have them now, also for a service that read them when it was started."""
    chosen = settings.load(house.places.settings)
    approvals, path = chosen.approvals, house.places.home / chosen.ledger.policy
    witnesses = hashlib.sha256(path.read_bytes()).hexdigest() if chosen.ledger.policy and path.is_file() else None
    return ApprovalRules(approvals.actions, approvals.maintainers, witnesses)


def kept(house: Application, session: Session | None = None) -> ApprovalRules | None:
    """Give the rules that are in force, or None where there never were any.

    Raises:
        Refused: the row was not written by this home, or those that the access log knows of are no longer there.
    """
    if session is None:
        with Session(house.engine) as own:
            return kept(house, own)
    noted = access_log.rules(session)  # first: rules that come meanwhile are no fewer
    return _newest(house, session, noted)


def numbered(house: Application, session: Session, number: int) -> ApprovalRules:
    """Give rules that are or were in force.

    Raises:
        Refused: the row was not written by this home.
    """
    row = session.get_one(RulesRow, number)
    if not hmac.compare_digest(row.tag, _tag(house, row.number, row.body, session)):
        raise Refused(f"rules {number} in the database were changed there: put back a backup of it")
    return ApprovalRules(**json.loads(row.body), number=number)


def _newest(house: Application, session: Session, noted: int) -> ApprovalRules | None:
    last = session.exec(select(func.max(RulesRow.number))).one() or 0
    if last < noted:
        raise Refused(f"rules {noted} were in force by the access log, and the database has lost them: put it back")
    return numbered(house, session, last) if last else None


def keep(house: Application, session: Session, rules: ApprovalRules, who: str) -> None:
    """Put rules in force, within the caller's transaction."""
    last = session.exec(select(func.max(RulesRow.number))).one() or 0
    number, body = last + 1, canonical(rules.document())
    tag = _tag(house, number, body, session)
    session.add(RulesRow(number=number, body=body, tag=tag, at=house.now()))
    house.vault.note(who=who, what=access_log.of_rules(number), why=f"in force: {rules.digest()}", session=session)


def _tag(house: Application, number: int, body: bytes, session: Session) -> str:
    return house.vault.tag("rules", f"{number} {hashlib.sha256(body).hexdigest()}", session)
