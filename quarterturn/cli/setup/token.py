"""Verbs of the service's API tokens."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.choices import Role
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app

if TYPE_CHECKING:
    from quarterturn.accounts.store import Token


verbs = typer.Typer(name="token", help="API tokens of the service: accounts, roles and scopes.")


@verbs.command("create")
def create(
    account: Annotated[str, typer.Argument(help="The token's account, a pseudonym.")],
    role: Annotated[Role, typer.Option(help="The role of its holder.")],
    scope: Annotated[list[str] | None, typer.Option(help="Limit it to this scope of its role; may repeat.")] = None,
    days: Annotated[int, typer.Option(help="Days until it expires, at most 366.")] = 90,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Create a token, and print it this once; only its hash is stored."""
    with open_app(home) as app:
        text, made = app.auth.accounts.create(account, role, scopes=scope or (), days=days)
    out = Output(as_json=as_json)
    if not as_json:
        out.say(_line(made))
    out.result(_plain(made) | {"token": text}, text)


@verbs.command("list")
def list_tokens(home: Home = HOME, as_json: Json = False) -> None:
    """List the tokens with account, scopes and expiry, without their secret text."""
    with open_app(home) as app:
        tokens = app.auth.accounts.list()
    lines = [_line(token) for token in tokens] or ["there is no token yet: `quarterturn token create`"]
    Output(as_json=as_json).result([_plain(token) for token in tokens], *lines)


@verbs.command("revoke")
def revoke(
    number: Annotated[int, typer.Argument(help="The token's number.")], home: Home = HOME, as_json: Json = False
) -> None:
    """Revoke a token; it is invalid from now on."""
    with open_app(home) as app:
        token = app.auth.accounts.revoke(number)
    Output(as_json=as_json).result(_plain(token), _line(token))


@verbs.command("link")
def link(
    account: Annotated[str, typer.Argument(help="The account.")],
    party: Annotated[str, typer.Argument(help="An account of the party that it belongs to.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Link an account to another one of the same people, to share its quotas."""
    with open_app(home) as app:
        app.auth.accounts.link(account, party)
        app.submissions.view.update()  # which runs count is said of parties
    Output(as_json=as_json).result({"account": account, "party": party}, f"{account} shares the quotas of {party}")


def _plain(token: Token) -> dict[str, Any]:
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else list(value) if isinstance(value, tuple) else value
        for name, value in asdict(token).items()
    }


def _line(token: Token) -> str:
    end = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else f"until {token.expires_at:%Y-%m-%d}"
    used = f"used {token.used_at:%Y-%m-%d}" if token.used_at else "never used"
    party = f" of {token.party}" if token.party != token.account else ""
    return f"{token.id:>4}  {token.account}{party}  {token.role}: {', '.join(token.scopes)}  {end}, {used}"
