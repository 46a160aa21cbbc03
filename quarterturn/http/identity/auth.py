"""Authentication and authorization: a request's token, checked against the scope that its route needs.

A public route ignores the token, except where the answer may hold more for the owner. A page takes the token from a
cookie too, and accepts forms only from this service's own pages (`quarterturn.http.identity.signin`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, params
from fastapi.dependencies.utils import get_flat_params
from starlette.concurrency import run_in_threadpool

from quarterturn.accounts.store import Caller
from quarterturn.http.dependencies.services import services
from quarterturn.http.identity import signin
from quarterturn.http.responses import rate_limit, validation
from quarterturn.http.responses.access import ACCESS, PAGES
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.rate_limit import Rate

SCHEME = "bearer "
OWNERS_SEE_MORE = {("GET", "/runs/{id}")}
_WHO = {"www-authenticate": 'Bearer realm="quarterturn"'}


async def gate(request: Request) -> None:
    """Let a request through to its route, or not.

    A program's misspelt parameter is refused, since what it stands for would be left out; pages of people take others,
    which links get on their way.

    Raises:
        Problem: `unauthenticated` without a good token, `rate` where it asks too often, from however many addresses,
            `forbidden` where it lacks the scope, `invalid` with a query parameter that its route does not have.
    """
    row = (request.method, request.scope["route"].path)
    await _require_scope(request, row)
    if row not in PAGES and request.query_params:
        fields = get_flat_params(request.scope["route"].dependant)
        known = [field.alias for field in fields if isinstance(field.field_info, params.Query)]
        if unknown := request.query_params.keys() - set(known):
            raise Problem("invalid", **validation.unknown_parameters(sorted(unknown), known))


async def _require_scope(request: Request, row: tuple[str, str]) -> None:
    scope = ACCESS[row]
    if row in PAGES and request.method != "GET":
        signin.require_from_here(request)
    if scope is None and row not in OWNERS_SEE_MORE:
        return
    request.state.caller = await run_in_threadpool(
        _caller, request, signin.session_token(request) if row in PAGES else None
    )
    if scope is None:
        return
    if request.state.caller is None:
        raise Problem("unauthenticated", _WHO, detail=_why_unknown(request))
    rate: Rate = request.app.state.rate
    left, wait = (0, 0) if scope == "play" else rate.take(str(request.state.caller.token))
    if left < 0:
        raise Problem("rate", {"retry-after": str(wait)}, **rate_limit.members(rate, wait, "this token"))
    if scope not in request.state.caller.scopes:
        has = ", ".join(sorted(request.state.caller.scopes))
        detail = f"This route needs the scope {scope}; your token ({request.state.caller.role}) has: {has}."
        raise Problem("forbidden", detail=f"{detail} Ask the operator for a token with it.", expected=scope, given=has)


def _why_unknown(request: Request) -> str:
    """Say why nobody was recognized; of a token that was sent never more than that it is not valid."""
    given = request.headers.getlist("authorization")
    if not given:
        return "The request has no Authorization header. Send your token in one: `Authorization: Bearer qt_…`."
    if len(given) > 1 or not given[0].lower().startswith(SCHEME):
        return "The Authorization header is not of the form `Bearer qt_…`. Send one header of this form."
    return "The token is unknown, expired or revoked. Ask the service's operator for another one."


def _caller(request: Request, cookie: str | None) -> Caller | None:
    given = request.headers.getlist("authorization")
    caller_of = services(request).caller
    if not given and cookie is not None:
        return caller_of(cookie)
    if len(given) != 1 or not given[0].lower().startswith(SCHEME):
        return None
    return caller_of(given[0][len(SCHEME) :].strip())


def caller(request: Request) -> Caller:
    """Return the caller, on a route that needs a scope."""
    current_caller: Caller = request.state.caller
    return current_caller


def perhaps(request: Request) -> Caller | None:
    """Return the caller, or None, on a route of `OWNERS_SEE_MORE`."""
    current_caller: Caller | None = request.state.caller
    return current_caller if current_caller is not None and "submit" in current_caller.scopes else None


Who = Annotated[Caller, Depends(caller)]
Perhaps = Annotated[Caller | None, Depends(perhaps)]
