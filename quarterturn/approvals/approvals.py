"""Two-person approval: a protected act runs once, after two maintainers have signed a request for it.

1. The rules in force say which acts need two maintainers (`quarterturn.approvals.rules`). While the settings propose
   other rules, every such act is refused until two maintainers of the old rules have signed for the new ones.
2. Asking for an act creates a request. The signed bytes bind the log, the action, its subject, its whole detail, the
   request, who asked, and its expiry: a signature over one request is worth nothing for another.
3. Two different maintainers sign (OpenSSH's signatures, Ed25519, namespace `quarterturn-approval`). Names that people
   type prove nothing, so whoever asked counts only by signing too.
4. A request is used up by compare-and-swap, with its line in the access log, and before the act. An act that can only
   happen once anyway (`request.FINISHED`) may be resumed under the same request after an interruption.

A detail holds ids, counts, commitments and reasons: nothing private, since it is signed and not sealed.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quarterturn.approvals import signatures
from quarterturn.approvals.request import WORDS, Action, ApprovalRequest, ProtectedAct
from quarterturn.approvals.rules import ApprovalRules, proposed
from quarterturn.approvals.store import ApprovalStore
from quarterturn.errors import NotAllowed, Unapproved
from quarterturn.settings import SIGNERS
from vault.ledger.tree import merkle

if TYPE_CHECKING:
    from rotation.turn.plan import Plan


@dataclass(frozen=True, slots=True)
class RulesStatus:
    """Approval rules, compared with what the settings propose.

    Attributes:
        rules: those in force; where nothing takes two maintainers yet, those of the settings.
        state: `in force`; `proposed` until the first act that needs them; or `changed`, where the settings differ.
        request: the newest open request for the change, if there is one.
    """

    rules: ApprovalRules
    state: Literal["in force", "proposed", "changed"]
    request: str | None = None


class Approvals:
    """Two-person approval in one home.

    Args:
        store: its rules, requests and signatures.
        home: its folder, whose settings propose rules.
        clock: the present moment, with its time zone.
    """

    def __init__(self, store: ApprovalStore, home: Path, clock: Callable[[], datetime]) -> None:
        self._store, self._home, self._clock = store, home, clock

    def require(self, action: Action, subject: str, detail: Mapping[str, Any], *, who: str | None = None) -> None:
        """Allow an act that needs no second person, or use up the request that two maintainers have signed for it.

        Args:
            action: what is done.
            subject: to what, in a few words (`turn 2026-12`, `task/<id>`).
            detail: exactly what, as JSON values without anything private.
            who: who asks; the account of this process, if it is not said.

        Raises:
            Unapproved: two maintainers have not signed; the message names the request and the next step.
        """
        rules = self.in_force(who)
        if rules is not None and action in rules.actions:
            self._spend(ProtectedAct(action, subject, detail, who or account()), rules)

    def in_force(self, who: str | None = None) -> ApprovalRules | None:
        """Return the rules in force, or None; first adopts what the settings propose where that is allowed.

        Raises:
            Unapproved: the settings propose others, and two maintainers have to sign for them first.
        """
        old, new, name = self._store.rules(), proposed(self._home), who or account()
        if old is not None and old.actions:
            if old.document() == new.document():
                return old
            detail = {"before": old.digest(), "after": new.document()}
            self._spend(ProtectedAct("policy", f"rules {new.digest()[:16]}", detail, name), old, new)
        elif new.actions:
            self._store.adopt(new, old, name)
        else:
            return old
        return self._store.rules()

    def waiting(self, action: Action, subject: str, detail: Mapping[str, Any]) -> str | None:
        """Say which signatures an act still needs, or None where it needs none; creates no request."""
        rules = self._store.rules()
        rules = rules if rules is not None and rules.actions else proposed(self._home)
        if action not in rules.actions:
            return None
        request = self._store.find(ProtectedAct(action, subject, detail), rules.number)
        if request is None:
            return f"{SIGNERS} maintainers must sign to {WORDS[action]}, once it is due"
        return None if request.signed else _sentence(request)

    def status(self) -> RulesStatus:
        """Compare the rules in force with what the settings propose; changes nothing."""
        old, new = self._store.rules(), proposed(self._home)
        if old is None or not old.actions:
            return RulesStatus(new, "proposed" if new.actions else "in force")
        if old.document() == new.document():
            return RulesStatus(old, "in force")
        now = self._clock()
        changes = [request.id for request in self.requests() if request.action == "policy" and request.stands(now)]
        return RulesStatus(old, "changed", changes[-1] if changes else None)

    def requests(self) -> list[ApprovalRequest]:
        """List all requests, the oldest first."""
        return self._store.requests()

    def request(self, name: str) -> ApprovalRequest:
        """Return a request.

        Raises:
            NotFound: there is none of this name.
        """
        return self._store.request(name)

    def sign(self, name: str, armored: str) -> ApprovalRequest:
        """Check and store a maintainer's signature over a request.

        Raises:
            NotFound: there is no such request.
            NotAllowed: it is used up or expired, or the signature is of nobody who may sign, or over something else.
            Refused: that maintainer has signed it already.
        """
        asked, rules = self._store.request(name), self._store.rules()
        if rules is None or (asked.rules, asked.log) != (rules.number, self._store.log_key):
            raise NotAllowed(f"request {name} was asked under other rules or another log's key: ask again")
        if not asked.stands(self._clock()):
            ended = "used up" if asked.used_at else "expired"
            raise NotAllowed(f"request {name} is {ended}: whoever needs it asks again")
        signer = signatures.signer(rules, asked.body, armored)
        if signer is None:
            raise NotAllowed(
                f"this is no signature of a maintainer over request {name} for the namespace {signatures.NAMESPACE}; "
                "nothing was kept"
            )
        self._store.add_signature(asked, signer, armored)
        return self._store.request(name)

    def _spend(self, act: ProtectedAct, rules: ApprovalRules, then: ApprovalRules | None = None) -> None:
        """Use up the signed request for exactly this, and put `then` in force with it; else make one and refuse."""
        request = self._store.spend(act, rules.number, then)
        if not request.signed:
            raise Unapproved(_sentence(request))


def turn(plan: Plan) -> tuple[str, dict[str, Any]]:
    """Return the subject and the detail of a turn: what retires, and the roots over what enters."""
    roots = {month: merkle.set_root([task.commitment for task in tasks]).hex() for month, tasks in plan.enter.items()}
    enters = [{"cohort": m.cohort, "count": len(plan.enter[m]), "root": root} for m, root in roots.items()]
    retires = plan.retire.id if plan.retire else None
    return f"turn {plan.month}", {"month": str(plan.month), "retires": retires, "enters": enters}


def account() -> str:
    """Name the account that this process runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _sentence(asked: ApprovalRequest) -> str:
    have = f"signed by {', '.join(asked.signed_by)}" if asked.signed_by else "not signed yet"
    return (
        f"this takes {SIGNERS} maintainers, and request {asked.id} ({asked.words}) is {have}: each looks at it with "
        f"`quarterturn approval show {asked.id}` and signs it with `quarterturn approval sign {asked.id}`, "
        f"until {asked.expires_at:%Y-%m-%d}. Then do the same again"
    )
