"""Sign-in for browsers: keeps the API token in a cookie; routes of the form, of signing in and of signing out.

1. The cookie is read by the routes of `access.PAGES` and by no other: whoever would forge a request to the interface
   needs the token itself.
2. No script reads it (`HttpOnly`), no other site's page sends it (`SameSite=Strict`), over https no other name of the
   host sets it (`__Host-`, `Secure`), and it is gone after `HOURS`.
3. A form is accepted only from this service's own pages, by `Sec-Fetch-Site`, else `Origin` (as
   Go's net/http.CrossOriginProtection reads them); a form with neither is refused.
4. There is no session to steal or to forget: revoking the token signs out everywhere.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from quarterturn.http.dependencies.services import services
from quarterturn.http.responses import html, json_responses
from quarterturn.http.responses.models import SUBMISSION
from quarterturn.http.responses.problems import Problem
from quarterturn.pages import sign_in as sign_in_pages

HOURS = 12
FIRST = {"submit": "/mine", "findings:read": "/findings/details"}
_OURS = re.compile(f"/(mine|findings/details|submission/{SUBMISSION})")

router = APIRouter(tags=["pages"], include_in_schema=False)


def session_token(request: Request) -> str | None:
    """Return the token in a request's cookie."""
    return request.cookies.get(_name(request))


def require_from_here(request: Request) -> None:
    """Refuse a form that was sent from another site's page.

    Raises:
        Problem: it was, or does not say.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "")
    same_origin = site == "same-origin" if site is not None else urlsplit(origin).netloc == request.headers.get("host")
    if not same_origin:
        raise Problem("cross-site")


@router.get("/sign-in", name="sign_in_page")
def form(request: Request) -> Response:
    """Show the form."""
    return html.own(sign_in_pages.page(_secure(request)))


@router.post("/sign-in", name="sign_in")
async def sign_in(request: Request) -> Response:
    """Keep a valid token in a cookie, and redirect to the page that asked for it."""
    given = parse_qs((await request.body()).decode("ascii", "replace"))
    token = given.get("token", [""])[0].strip()
    caller = await run_in_threadpool(services(request).caller, token)
    if caller is None:
        return html.own(sign_in_pages.page(_secure(request), wrong=True), 422)
    first = next((page for scope, page in FIRST.items() if scope in caller.scopes), "/")
    to = given.get("to", [""])[0]
    response = _to(to if _OURS.fullmatch(to) else first)
    response.set_cookie(
        _name(request), token, HOURS * 3600, path="/", secure=_secure(request), httponly=True, samesite="strict"
    )
    return response


@router.post("/sign-out", name="sign_out")
def sign_out(request: Request) -> Response:
    """Delete the cookie; the token stays valid."""
    response = _to("/sign-in")
    response.delete_cookie(_name(request), path="/", secure=_secure(request), httponly=True, samesite="strict")
    return response


def kept_out(request: Request) -> Response:
    """Answer an unauthenticated request for a page with the form."""
    path = request.url.path
    response = html.own(sign_in_pages.page(_secure(request), to=path if _OURS.fullmatch(path) else ""), 401)
    response.headers["www-authenticate"] = 'Bearer realm="quarterturn"'
    return response


def _to(path: str) -> Response:
    return RedirectResponse(path, 303, {"cache-control": json_responses.PRIVATE, **html.PAGE})


def _secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _name(request: Request) -> str:
    return "__Host-quarterturn" if _secure(request) else "quarterturn"
