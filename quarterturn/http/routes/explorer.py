"""Routes of the log explorer: its page, its script, which verifies every answer, and `verify.html` to download."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from quarterturn.http.responses import html, json_responses
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.public import View
from quarterturn.pages import explorer
from vault.ledger import browser

router = APIRouter(tags=["pages"], include_in_schema=False)

JAVASCRIPT = "text/javascript; charset=utf-8"
PAGE = html.policy(script_src="'self'", connect_src="'self'")
script, verifier = Document.of(browser.explorer()), Document.of(browser.page())


@router.get(explorer.HERE, name="explorer_page")
def explorer_page(request: Request, view: View) -> Response:
    """Show the explorer's page."""
    key = view.key()
    return html.public(
        request, explorer.page(" ".join(key.body.decode().split()) if key else "", view.releases()), PAGE
    )


@router.get("/static/explorer.js", name="explorer_script")
def explorer_script(request: Request) -> Response:
    """Return the explorer's script."""
    return json_responses.published(request, script, JAVASCRIPT)


@router.get("/verify.html", name="verifier")
def verifier_page(request: Request) -> Response:
    """Return the page that checks a release from a disk; it is for saving, so it is not shown here."""
    response = json_responses.published(request, verifier, html.HTML)
    response.headers["content-disposition"] = 'attachment; filename="verify.html"'
    return response
