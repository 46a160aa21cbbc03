"""Two-person approval: a protected act runs once, after two maintainers have signed a request for it.

1. The rules in force say which acts need two maintainers (`quarterturn.approvals.rules`). While the settings propose
   other rules, every such act is refused until two maintainers of the old rules have signed for the new ones.
2. Asking for an act creates a request. The signed bytes bind the log, the action, its subject, its whole detail, the
   request, who asked, and its expiry: a signature over one request is worth nothing for another.
3. Two different maintainers sign (OpenSSH's signatures, Ed25519, namespace `quarterturn-approval`). Names that people
   type prove nothing, so whoever asked counts only by signing too.
4. A request is used up by compare-and-swap, with its line in the access log, and before the act. An act that can only
   happen once anyway (`FINISHED`) may be resumed under the same request after an interruption.

A detail holds ids, counts, commitments and reasons: nothing private, since it is signed and not sealed.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import update
from sqlmodel import Session, col, select

from quarterturn.approvals import rules, signatures
from quarterturn.approvals.rules import ApprovalRules
from quarterturn.approvals.signatures import WORDS, ApprovalRequest
from quarterturn.approvals.tables import ApprovalRow
from quarterturn.errors import Malformed, Refused, Unapproved
from quarterturn.report import Report
from quarterturn.settings import SIGNERS
from vault.canonical import digest
from vault.database import transaction
from vault.errors import Malformed as NotCanonical
from vault.ledger.tree import merkle

if TYPE_CHECKING:
    from quarterturn.app import Application
    from rotation.turn.plan import Plan

Action = Literal["activate", "withdraw", "export", "policy"]
STANDS = timedelta(days=7)
FINISHED = frozenset({"activate", "withdraw"})
"""Acts that cannot happen twice, whatever is approved: a month is turned once, a task withdrawn once."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True, slots=True)
class _Act:
    """What is to be done, and who asks."""

    action: Action
    subject: str
    detail: Mapping[str, Any]
    who: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the detail's canonical form, in hex."""
        return _digest(self.detail)


def require(
    house: Application, action: Action, subject: str, detail: Mapping[str, Any], *, who: str | None = None
) -> None:
    """Allow an act that needs no second person, or use up the request that two maintainers have signed for it.

    Args:
        house: the home.
        action: what is done.
        subject: to what, in a few words (`turn 2026-12`, `task/<id>`).
        detail: exactly what, as JSON values without anything private.
        who: who asks; the account of this process, if it is not said.

    Raises:
        Unapproved: two maintainers have not signed; the message names the request and the next step.
    """
    standing = in_force(house, who)
    if standing is not None and action in standing.actions:
        _spend(house, standing, _Act(action, subject, detail, who or account()))


def turn(plan: Plan) -> tuple[str, dict[str, Any]]:
    """Give the subject and the detail of a turn: what retires, and the roots over what enters."""
    roots = {month: merkle.set_root([task.commitment for task in tasks]).hex() for month, tasks in plan.enter.items()}
    enters = [{"cohort": m.cohort, "count": len(plan.enter[m]), "root": root} for m, root in roots.items()]
    retires = plan.retire.id if plan.retire else None
    return f"turn {plan.month}", {"month": str(plan.month), "retires": retires, "enters": enters}


def in_force(house: Application, who: str | None = None) -> ApprovalRules | None:
    """Give the rules in force, first adopting what the settings propose where that is allowed; None if there are none.

    Raises:
        Unapproved: the settings propose others, and two maintainers have to sign for them first.
    """
    old, new, name = rules.kept(house), rules.proposed(house), who or account()
    if old is None or not old.actions:
        if new.actions:
            with transaction(house.engine) as session:
                if rules.kept(house, session) == old:
                    rules.keep(house, session, new, name)
            return rules.kept(house)
        return old
    if old.document() != new.document():
        detail = {"before": old.digest(), "after": new.document()}
        act = _Act("policy", f"rules {new.digest()[:16]}", detail, name)
        _spend(house, old, act, lambda session: rules.keep(house, session, new, name))
        return rules.kept(house)
    return old


def waiting(house: Application, action: Action, subject: str, detail: Mapping[str, Any]) -> str | None:
    """Say which signatures an act still needs, or None where it needs none; creates no request."""
    standing = rules.kept(house)
    standing = standing if standing is not None and standing.actions else rules.proposed(house)
    if action not in standing.actions:
        return None
    with Session(house.engine) as session:
        request = _standing(house, standing.number, session, _Act(action, subject, detail))
    if request is not None and len(request.signed_by) >= SIGNERS:
        return None
    return _sentence(request) if request else f"{SIGNERS} maintainers must sign to {WORDS[action]}, once it is due"


def told(house: Application) -> Report:
    """Report which acts need two maintainers; the answer is no where the settings differ from the rules in force."""
    old, new = rules.kept(house), rules.proposed(house)
    if old is None or not old.actions:
        later = ["these rules come into force with the first such act, or now: `quarterturn approval list`"]
        return Report(new.document(), [_rules(new), *(later if new.actions else [])], ok=not new.actions)
    if old.document() == new.document():
        return Report(old.document(), [_rules(old)])
    open_ones = [
        request.id
        for request in signatures.requests(house)
        if request.action == "policy" and request.stands(house.now())
    ]
    wait = f"request {open_ones[-1]} waits for signatures" if open_ones else "`quarterturn approval list` makes it"
    changed = f"the settings or the witnesses' policy differ, and two maintainers must sign for the change: {wait}"
    return Report(old.document(), [_rules(old), changed], ok=False)


def _rules(standing: ApprovalRules) -> str:
    if not standing.actions:
        return "nothing takes two maintainers: one person may do everything"
    names = ", ".join(sorted(standing.maintainers))
    return f"{SIGNERS} of {names} sign for: {', '.join(sorted(set(standing.actions)))}"


def account() -> str:
    """Name the account that this process runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


# -- one request ------------------------------------------------------------------------------------------------------


def _spend(
    house: Application, standing: ApprovalRules, act: _Act, then: Callable[[Session], None] = lambda _: None
) -> None:
    """Use up a signed request for exactly this, and do `then` in the same transaction; else make one and refuse."""
    with transaction(house.engine) as session:
        request = _standing(house, standing.number, session, act) or _ask(house, standing.number, session, act)
        if len(request.signed_by) >= SIGNERS:
            _use(house, session, request, act.who)
            then(session)
            return
    raise Unapproved(_sentence(request))


def _use(house: Application, session: Session, request: ApprovalRequest, who: str) -> None:
    if request.used_at is not None:
        return  # what is gone on with was noted when it began
    change = update(ApprovalRow).where(col(ApprovalRow.id) == request.id, col(ApprovalRow.used_at).is_(None))
    if session.exec(change.values(used_at=house.now())).rowcount != 1:
        raise Refused(f"request {request.id} was used up at the same moment; look again")
    why = f"signed by {', '.join(request.signed_by)}: {request.words}"
    house.vault.note(who=who, what=f"approval/{request.id}", why=why, session=session)


def _ask(house: Application, standing: int, session: Session, act: _Act) -> ApprovalRequest:
    row = ApprovalRow(
        id="a-" + "".join(secrets.choice(_ALPHABET) for _ in range(16)),
        action=act.action,
        subject=act.subject,
        detail=dict(act.detail),
        digest=act.digest,
        asked_by=act.who,
        asked_at=house.now(),
        expires_at=house.now() + STANDS,
        rules=standing,
        log=signatures.log_key(house),
    )
    session.add(row)
    session.flush()
    asked = signatures.of(house, session, row)
    house.vault.note(who=act.who, what=f"approval/{row.id}", why=f"ask: {asked.words}", session=session)
    return asked


def _standing(house: Application, standing: int, session: Session, act: _Act) -> ApprovalRequest | None:
    """Find what stands for exactly this under the rules of this number, and of several what has most signatures."""
    query = select(ApprovalRow).where(
        ApprovalRow.action == act.action,
        ApprovalRow.subject == act.subject,
        ApprovalRow.digest == act.digest,
        ApprovalRow.rules == standing,
        ApprovalRow.log == signatures.log_key(house),
    )
    if act.action not in FINISHED:
        query = query.where(col(ApprovalRow.used_at).is_(None))
    rows = session.exec(query.order_by(col(ApprovalRow.asked_at), col(ApprovalRow.id))).all()
    alive = [row for row in rows if row.used_at is not None or house.now() < row.expires_at]
    requests = [signatures.of(house, session, row) for row in alive if _digest(row.detail) == act.digest]
    return max(requests, key=lambda request: len(request.signed_by), default=None)


def _digest(detail: Mapping[str, Any]) -> str:
    try:
        return digest(dict(detail))
    except NotCanonical as error:
        raise Malformed(f"what is to be approved has no canonical form: {error}") from None


def _sentence(asked: ApprovalRequest) -> str:
    have = f"signed by {', '.join(asked.signed_by)}" if asked.signed_by else "not signed yet"
    return (
        f"this takes {SIGNERS} maintainers, and request {asked.id} ({asked.words}) is {have}: each looks at it with "
        f"`quarterturn approval show {asked.id}` and signs it with `quarterturn approval sign {asked.id}`, "
        f"until {asked.expires_at:%Y-%m-%d}. Then do the same again"
    )
