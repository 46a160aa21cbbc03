"""Approval requests, and the maintainers' signatures over them.

A request is a row; the bytes to be signed are made from the row each time, so a changed row has no valid signature. It
is signed by maintainers of the rules under which it was asked, and is void under others. Signatures are OpenSSH's,
Ed25519, so that a maintainer signs with a key that they have, on a machine of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from sqlmodel import Session, col, select

from quarterturn.approvals import rules
from quarterturn.approvals.rules import ApprovalRules
from quarterturn.approvals.tables import ApprovalRow, ApprovalSignatureRow
from quarterturn.errors import Malformed, NotAllowed, NotFound, Refused
from quarterturn.settings import SIGNERS
from vault.canonical import canonical
from vault.database import transaction
from vault.errors import Broken
from vault.errors import Malformed as NoSignature
from vault.keys import private_files
from vault.ledger.signatures import sshsig

if TYPE_CHECKING:
    from quarterturn.app import Application

FORMAT = "quarterturn/approval/v1"
NAMESPACE = "quarterturn-approval"

WORDS: Mapping[str, str] = {
    "activate": "begin the turn",
    "withdraw": "withdraw",
    "export": "show in plain text",
    "policy": "change the rules for two",
}


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request that two maintainers must sign.

    Attributes:
        id: names it.
        action: one of `Action`.
        subject: what it is done to.
        detail: exactly what is done.
        asked_by: who asked, in their own words.
        asked_at: when.
        expires_at: until when it may be signed and used.
        used_at: when it was used up, if it was.
        rules: the number of the rules under which it was asked.
        log: the log's key of that time.
        signed_by: maintainers of those rules whose signatures stand under it.
        body: the bytes to be signed.
    """

    id: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    asked_by: str
    asked_at: datetime
    expires_at: datetime
    used_at: datetime | None
    rules: int
    log: str
    signed_by: tuple[str, ...]
    body: bytes

    def stands(self, now: datetime) -> bool:
        """Say whether it may still be signed and used."""
        return self.used_at is None and now < self.expires_at

    @property
    def words(self) -> str:
        """What would be done."""
        return f"{WORDS[self.action]}: {self.subject}"


def requests(house: Application) -> list[ApprovalRequest]:
    """List all requests, the oldest first."""
    with Session(house.engine) as session:
        rows = session.exec(select(ApprovalRow).order_by(col(ApprovalRow.asked_at), col(ApprovalRow.id))).all()
        return [of(house, session, row) for row in rows]


def request(house: Application, name: str) -> ApprovalRequest:
    """Give a request.

    Raises:
        NotFound: there is none of this name.
    """
    with Session(house.engine) as session:
        row = session.get(ApprovalRow, name)
        if row is None:
            raise NotFound(f"there is no request {name}; `quarterturn approval list` names those that there are")
        return of(house, session, row)


def keep(house: Application, name: str, armored: str) -> ApprovalRequest:
    """Check and store a maintainer's signature over a request.

    Raises:
        NotFound: there is no such request.
        NotAllowed: it is used up or expired, or the signature is of nobody who may sign, or over something else.
        Refused: that maintainer has signed it already.
    """
    asked, standing = request(house, name), rules.kept(house)
    if standing is None or (asked.rules, asked.log) != (standing.number, log_key(house)):
        raise NotAllowed(f"request {name} was asked under other rules or another log's key: ask again")
    if not asked.stands(house.now()):
        raise NotAllowed(f"request {name} is {'used up' if asked.used_at else 'expired'}: whoever needs it asks again")
    signer = _signer(standing, asked.body, armored)
    if signer is None:
        raise NotAllowed(
            f"this is no signature of a maintainer over request {name} for the namespace {NAMESPACE}; nothing was kept"
        )
    with transaction(house.engine) as session:
        if session.get(ApprovalSignatureRow, (name, signer)) is not None:
            raise Refused(f"{signer} has signed request {name} already; it takes {SIGNERS} different maintainers")
        row = ApprovalSignatureRow(approval=name, maintainer=signer, signature=armored, at=house.now())
        session.add(row)
        why = f"sign: {asked.words}"
        house.vault.note(who=signer, what=f"approval/{name}", why=why, session=session)
    return request(house, name)


def made(body: bytes, key: Path) -> str:
    """Sign a request's bytes with a key.

    Raises:
        Locked: the key's file is missing, or open to others.
        Malformed: it is no Ed25519 key of OpenSSH's, or has a passphrase.
    """
    try:
        loaded = load_ssh_private_key(private_files.read(key, "maintainer's key"), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        loaded = None
    if not isinstance(loaded, Ed25519PrivateKey):
        raise Malformed(
            f"{key} is no OpenSSH key of the kind ed25519 without a passphrase: sign with `ssh-keygen -Y sign "
            f"-n {NAMESPACE}` what `approval show --out` wrote, and give --signature"
        )
    return sshsig.sign(body, NAMESPACE, loaded)


def log_key(house: Application) -> str:
    """Give the log's key, which says whose request it is."""
    return house.places.log_vkey.read_text(encoding="utf-8").strip()


def of(house: Application, session: Session, row: ApprovalRow) -> ApprovalRequest:
    """Give a row's request, with the signatures under it that hold."""
    body, standing = _body(row), rules.numbered(house, session, row.rules)
    query = select(ApprovalSignatureRow).where(ApprovalSignatureRow.approval == row.id)
    lines = session.exec(query.order_by(col(ApprovalSignatureRow.maintainer))).all()
    signers = [_signer(standing, body, line.signature) for line in lines]
    return ApprovalRequest(
        id=row.id,
        action=row.action,
        subject=row.subject,
        detail=row.detail,
        asked_by=row.asked_by,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        rules=row.rules,
        log=row.log,
        signed_by=tuple(dict.fromkeys(name for name in signers if name is not None)),
        body=body,
    )


def _body(row: ApprovalRow) -> bytes:
    """Give the bytes to be signed: canonical JSON."""
    return canonical(
        {
            "format": FORMAT,
            "log": row.log,
            "rules": row.rules,
            "request": row.id,
            "action": row.action,
            "subject": row.subject,
            "detail": row.detail,
            "asked_by": row.asked_by,
            "asked_at": row.asked_at.isoformat(timespec="seconds"),
            "expires_at": row.expires_at.isoformat(timespec="seconds"),
        }
    )


def _signer(standing: ApprovalRules, body: bytes, armored: str) -> str | None:
    """Say which maintainer signed, or None."""
    for name in standing.maintainers:
        try:
            sshsig.verify(body, NAMESPACE, armored, standing.key(name))
        except (NoSignature, Broken):
            continue
        return name
    return None
