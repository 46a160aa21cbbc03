"""Store of accounts and API tokens: creating them, revoking them, and looking a token up at each request.

1. A token is shown once, when it is made; only its digest is stored.
2. A token grants its scopes until it expires or is revoked.
3. A caller with an invalid token is not told whether form, existence, expiry or revocation was the reason.
4. The time of last use is stored to the hour: anything finer would write a row for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from sqlalchemy import Engine, update
from sqlmodel import Session, col, select

from quarterturn.accounts import tokens
from quarterturn.accounts.roles import Scope, scopes_of
from quarterturn.accounts.tables import AccountRow, TokenRow
from quarterturn.choices import Role
from quarterturn.errors import Malformed, NotFound
from sandbox.pseudonyms import require_pseudonym
from vault.database import join_or_begin, transaction

DAYS = 90
MAX_TOKEN_DAYS = 366
_FINE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Caller:
    """The account, role and scopes behind a valid token."""

    account: str
    party: str
    role: Role
    scopes: frozenset[Scope]
    token: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token's metadata, without its secret text."""

    id: int
    account: str
    party: str
    role: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


class Accounts:
    """The accounts of one home."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._engine, self._clock = engine, clock

    def create(
        self,
        account: str,
        role: Role,
        *,
        scopes: Collection[str] = (),
        days: int = DAYS,
        mint: Callable[[], str] = tokens.mint,
        session: Session | None = None,
    ) -> tuple[str, Token]:
        """Make a token, and the account if it is new; the text is given here and never again.

        With a `session` both are part of the caller's transaction.

        Raises:
            Malformed: the name is no pseudonym, a scope is none of the role's, or the time is too long.
        """
        require_pseudonym(account, "account")
        chosen = scopes_of(role, scopes)
        if not 1 <= days <= MAX_TOKEN_DAYS:
            raise Malformed(f"a token lasts 1 to {MAX_TOKEN_DAYS} days")
        text, now = mint(), self._now()
        with join_or_begin(self._engine, session) as own:
            _open(own, account, now)
            row = TokenRow(
                account=account,
                role=role,
                scopes=sorted(chosen),
                digest=tokens.digest(text),
                created_at=now,
                expires_at=now + timedelta(days=days),
            )
            own.add(row)
            own.flush()
            return text, _token(row, _party(own, account))

    def renew(self, number: int, days: int) -> str:
        """Give a token another text, with which alone it is valid from now on, also where it was revoked.

        Raises:
            NotFound: there is none of that number.
        """
        text, now = tokens.mint(), self._now()
        with transaction(self._engine) as session:
            row = session.get(TokenRow, number)
            if row is None:
                raise NotFound(f"there is no token {number}; `quarterturn token list` lists them")
            row.digest, row.expires_at, row.revoked_at = tokens.digest(text), now + timedelta(days=days), None
        return text

    def open(self, account: str) -> None:
        """Make an account without a token, unless it is there.

        Raises:
            Malformed: the name is no pseudonym.
        """
        require_pseudonym(account, "account")
        with transaction(self._engine) as session:
            _open(session, account, self._now())

    def link(self, account: str, party: str) -> None:
        """Let an account share the quotas of a party, which is named after one of its accounts.

        Raises:
            NotFound: there is no such account.
        """
        with transaction(self._engine) as session:
            row = session.get(AccountRow, account)
            if row is None or session.get(AccountRow, party) is None:
                raise NotFound(f"there is no account '{account if row is None else party}'; `token list` names them")
            row.party = _party(session, party)

    def party(self, account: str) -> set[str]:
        """Name the accounts of this account's party, itself included."""
        with Session(self._engine) as session:
            own = select(AccountRow.party).where(AccountRow.name == account)
            query = select(AccountRow.name).where(col(AccountRow.party).in_(own))
            return {account, *session.exec(query).all()}

    def parties(self) -> dict[str, str]:
        """Return the party of each account."""
        with Session(self._engine) as session:
            return {row.name: row.party for row in session.exec(select(AccountRow)).all()}

    def revoke(self, number: int) -> Token:
        """Revoke a token; doing it twice changes nothing.

        Raises:
            NotFound: there is none of that number.
        """
        with transaction(self._engine) as session:
            row = session.get(TokenRow, number)
            if row is None:
                raise NotFound(f"there is no token {number}; `quarterturn token list` lists them")
            row.revoked_at = row.revoked_at or self._now()
            session.flush()
            return _token(row, _party(session, row.account))

    def list(self) -> list[Token]:
        """List all tokens, the oldest first."""
        with Session(self._engine) as session:
            rows = session.exec(select(TokenRow).order_by(col(TokenRow.id))).all()
            return [_token(row, _party(session, row.account)) for row in rows]

    def caller(self, text: str) -> Caller | None:
        """Return the caller of a valid token, or None for any other text."""
        if not tokens.well_formed(text):
            return None
        now = self._now()
        with Session(self._engine) as session:
            row = session.exec(select(TokenRow).where(TokenRow.digest == tokens.digest(text))).one_or_none()
            if row is None or row.revoked_at is not None or row.expires_at <= now:
                return None
            caller = _caller(row, _party(session, row.account))
            stale = row.used_at is None or row.used_at <= now - _FINE
        if stale:
            with transaction(self._engine) as session:
                session.exec(update(TokenRow).where(col(TokenRow.id) == caller.token).values(used_at=now))
        return caller

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _open(session: Session, account: str, now: datetime) -> None:
    if session.get(AccountRow, account) is None:
        session.add(AccountRow(name=account, party=account, created_at=now))
        session.flush()


def _party(session: Session, account: str) -> str:
    return session.exec(select(AccountRow.party).where(AccountRow.name == account)).one()


def _caller(row: TokenRow, party: str) -> Caller:
    scopes = frozenset(cast("Scope", scope) for scope in row.scopes)
    return Caller(row.account, party, cast("Role", row.role), scopes, row.id or 0)


def _token(row: TokenRow, party: str) -> Token:
    names = ("account", "role", "created_at", "expires_at", "revoked_at", "used_at")
    return Token(id=row.id or 0, party=party, scopes=tuple(row.scopes), **{name: getattr(row, name) for name in names})
