"""Store of approval rules, of approval requests and of the signatures under them.

A request is signed by maintainers of the rules under which it was asked, and is void under others.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine, func, update
from sqlmodel import Session, col, select

from quarterturn.approvals import signatures
from quarterturn.approvals.request import FINISHED, STANDS, ApprovalRequest, ProtectedAct, digest_of
from quarterturn.approvals.rules import ApprovalRules
from quarterturn.approvals.tables import ApprovalRow, ApprovalSignatureRow, RulesRow
from quarterturn.errors import NotFound, Refused
from quarterturn.settings import SIGNERS
from vault.canonical import canonical
from vault.database import transaction
from vault.store import access_log
from vault.store.tasks import Vault

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


class ApprovalStore:
    """The approval rules and requests of one home.

    Args:
        engine: from `vault.database.open_engine`.
        vault: gives the vault, whose tags and access log each row needs; while there is no row, it is not asked.
        log_vkey: the file of the log's public key, which says whose request it is.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, engine: Engine, vault: Callable[[], Vault], log_vkey: Path, clock: Callable[[], datetime]
    ) -> None:
        self._engine, self._vault, self._log_vkey, self._clock = engine, vault, log_vkey, clock

    @property
    def log_key(self) -> str:
        """The log's key."""
        return self._log_vkey.read_text(encoding="utf-8").strip()

    # -- rules --------------------------------------------------------------------------------------------------------

    def rules(self, session: Session | None = None) -> ApprovalRules | None:
        """Return the rules that are in force, or None where there never were any.

        Raises:
            Refused: the row was not written by this home, or those that the access log knows of are no longer there.
        """
        if session is None:
            with Session(self._engine) as own:
                return self.rules(own)
        noted, last = access_log.rules(session), _newest(session)  # in this order: rules that come meanwhile are more
        if last < noted:
            raise Refused(f"rules {noted} were in force by the access log, and the database has lost them: put it back")
        return self._numbered(session, last) if last else None

    def adopt(self, rules: ApprovalRules, before: ApprovalRules | None, who: str) -> None:
        """Put rules in force that nobody has to sign for, unless others than `before` are in force meanwhile."""
        with transaction(self._engine) as session:
            if self.rules(session) == before:
                self._put_in_force(session, rules, who)

    def _numbered(self, session: Session, number: int) -> ApprovalRules:
        row = session.get_one(RulesRow, number)
        if not hmac.compare_digest(row.tag, self._tag(session, row.number, row.body)):
            raise Refused(f"rules {number} in the database were changed there: put back a backup of it")
        return ApprovalRules(**json.loads(row.body), number=number)

    def _put_in_force(self, session: Session, rules: ApprovalRules, who: str) -> None:
        number, body = _newest(session) + 1, canonical(rules.document())
        session.add(RulesRow(number=number, body=body, tag=self._tag(session, number, body), at=self._clock()))
        why = f"in force: {rules.digest()}"
        self._vault().note(who=who, what=access_log.of_rules(number), why=why, session=session)

    def _tag(self, session: Session, number: int, body: bytes) -> str:
        return self._vault().tag("rules", f"{number} {hashlib.sha256(body).hexdigest()}", session)

    # -- requests -----------------------------------------------------------------------------------------------------

    def requests(self) -> list[ApprovalRequest]:
        """List all requests, the oldest first."""
        with Session(self._engine) as session:
            rows = session.exec(select(ApprovalRow).order_by(col(ApprovalRow.asked_at), col(ApprovalRow.id))).all()
            return [self._request(session, row) for row in rows]

    def request(self, name: str) -> ApprovalRequest:
        """Return a request.

        Raises:
            NotFound: there is none of this name.
        """
        with Session(self._engine) as session:
            row = session.get(ApprovalRow, name)
            if row is None:
                raise NotFound(f"there is no request {name}; `quarterturn approval list` names those that there are")
            return self._request(session, row)

    def find(self, act: ProtectedAct, rules: int, session: Session | None = None) -> ApprovalRequest | None:
        """Find what stands for exactly this under the rules of this number, and of several what has most signatures."""
        if session is None:
            with Session(self._engine) as own:
                return self.find(act, rules, own)
        query = select(ApprovalRow).where(
            ApprovalRow.action == act.action,
            ApprovalRow.subject == act.subject,
            ApprovalRow.digest == act.digest,
            ApprovalRow.rules == rules,
            ApprovalRow.log == self.log_key,
        )
        if act.action not in FINISHED:
            query = query.where(col(ApprovalRow.used_at).is_(None))
        rows = session.exec(query.order_by(col(ApprovalRow.asked_at), col(ApprovalRow.id))).all()
        alive = [row for row in rows if row.used_at is not None or self._clock() < row.expires_at]
        requests = [self._request(session, row) for row in alive if digest_of(row.detail) == act.digest]
        return max(requests, key=lambda request: len(request.signed_by), default=None)

    def spend(self, act: ProtectedAct, rules: int, then: ApprovalRules | None = None) -> ApprovalRequest:
        """Use up the request for exactly this if it is signed, and put the rules `then` in force with it.

        Gives the request as it was before, made anew where there is none.

        Raises:
            Refused: somebody else used it up at the same moment.
        """
        with transaction(self._engine) as session:
            request = self.find(act, rules, session) or self._ask(session, act, rules)
            if request.signed:
                self._use(session, request, act.who)
                if then is not None:
                    self._put_in_force(session, then, act.who)
            return request

    def add_signature(self, request: ApprovalRequest, signer: str, armored: str) -> None:
        """Store a maintainer's signature over a request.

        Raises:
            Refused: that maintainer has signed it already.
        """
        with transaction(self._engine) as session:
            if session.get(ApprovalSignatureRow, (request.id, signer)) is not None:
                raise Refused(
                    f"{signer} has signed request {request.id} already; it takes {SIGNERS} different maintainers"
                )
            session.add(
                ApprovalSignatureRow(approval=request.id, maintainer=signer, signature=armored, at=self._clock())
            )
            self._note(session, request, signer, f"sign: {request.words}")

    def _ask(self, session: Session, act: ProtectedAct, rules: int) -> ApprovalRequest:
        row = ApprovalRow(
            id="a-" + "".join(secrets.choice(_ALPHABET) for _ in range(16)),
            action=act.action,
            subject=act.subject,
            detail=dict(act.detail),
            digest=act.digest,
            asked_by=act.who,
            asked_at=self._clock(),
            expires_at=self._clock() + STANDS,
            rules=rules,
            log=self.log_key,
        )
        session.add(row)
        session.flush()
        asked = self._request(session, row)
        self._note(session, asked, act.who, f"ask: {asked.words}")
        return asked

    def _use(self, session: Session, request: ApprovalRequest, who: str) -> None:
        if request.used_at is not None:
            return  # what is gone on with was noted when it began
        change = update(ApprovalRow).where(col(ApprovalRow.id) == request.id, col(ApprovalRow.used_at).is_(None))
        if session.exec(change.values(used_at=self._clock())).rowcount != 1:
            raise Refused(f"request {request.id} was used up at the same moment; look again")
        self._note(session, request, who, f"signed by {', '.join(request.signed_by)}: {request.words}")

    def _note(self, session: Session, request: ApprovalRequest, who: str, why: str) -> None:
        self._vault().note(who=who, what=f"approval/{request.id}", why=why, session=session)

    def _request(self, session: Session, row: ApprovalRow) -> ApprovalRequest:
        """Return a row's request, with the signatures under it that hold."""
        names = ("id", "action", "subject", "detail", "asked_by", "asked_at", "expires_at", "used_at", "rules", "log")
        request = ApprovalRequest(**{name: getattr(row, name) for name in names})
        rules, body = self._numbered(session, row.rules), request.body
        query = select(ApprovalSignatureRow).where(ApprovalSignatureRow.approval == row.id)
        lines = session.exec(query.order_by(col(ApprovalSignatureRow.maintainer))).all()
        signers = [signatures.signer(rules, body, line.signature) for line in lines]
        return replace(request, signed_by=tuple(dict.fromkeys(name for name in signers if name is not None)))


def _newest(session: Session) -> int:
    return session.exec(select(func.max(RulesRow.number))).one() or 0
