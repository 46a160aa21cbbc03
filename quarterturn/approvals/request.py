"""Approval request: what it asks for, and the bytes that two maintainers sign.

The bytes are made from the request each time, so a request whose row was changed has no valid signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from quarterturn.errors import Malformed
from quarterturn.settings import SIGNERS
from vault.canonical import canonical, digest
from vault.errors import Malformed as NotCanonical

Action = Literal["activate", "withdraw", "export", "policy"]
FORMAT = "quarterturn/approval/v1"
STANDS = timedelta(days=7)
FINISHED = frozenset({"activate", "withdraw"})
"""Acts that cannot happen twice, whatever is approved: a month is turned once, a task withdrawn once."""

WORDS: Mapping[str, str] = {
    "activate": "begin the turn",
    "withdraw": "withdraw",
    "export": "show in plain text",
    "policy": "change the rules for two",
}


@dataclass(frozen=True, slots=True)
class ProtectedAct:
    """An act that may need two maintainers.

    Attributes:
        action: what is done.
        subject: what it is done to, in a few words.
        detail: exactly what is done.
        who: who asks, in their own words.
    """

    action: Action
    subject: str
    detail: Mapping[str, Any]
    who: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the detail's canonical form, in hex."""
        return digest_of(self.detail)


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
    signed_by: tuple[str, ...] = ()

    def stands(self, now: datetime) -> bool:
        """Say whether it may still be signed and used."""
        return self.used_at is None and now < self.expires_at

    @property
    def signed(self) -> bool:
        """Whether enough maintainers have signed it."""
        return len(self.signed_by) >= SIGNERS

    @property
    def words(self) -> str:
        """What would be done."""
        return f"{WORDS[self.action]}: {self.subject}"

    @property
    def body(self) -> bytes:
        """The bytes to be signed: canonical JSON."""
        return canonical(
            {
                "format": FORMAT,
                "log": self.log,
                "rules": self.rules,
                "request": self.id,
                "action": self.action,
                "subject": self.subject,
                "detail": self.detail,
                "asked_by": self.asked_by,
                "asked_at": self.asked_at.isoformat(timespec="seconds"),
                "expires_at": self.expires_at.isoformat(timespec="seconds"),
            }
        )


def digest_of(detail: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a detail's canonical form, in hex.

    Raises:
        Malformed: it has none.
    """
    try:
        return digest(dict(detail))
    except NotCanonical as error:
        raise Malformed(f"what is to be approved has no canonical form: {error}") from None
