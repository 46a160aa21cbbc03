"""HTML answers: pages, tables and the style sheet, under a strict content security policy.

1. A public page is drawn from documents of the public view; its ETag is the hash of its bytes, as every document's.
2. A private page is not cached, and has no ETag.
3. No page runs a script or loads anything but the style sheet; a page that needs more names it (`policy`).
4. Forms go to this service alone, under the referrer policy `same-origin`: browsers send no `Origin` under
   `no-referrer`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from quarterturn.http.responses import json_responses, validation
from quarterturn.http.responses.access import PAGES
from quarterturn.http.responses.middleware import SECURITY
from quarterturn.http.responses.problems import DETAILS, PROBLEMS, Problem
from quarterturn.http.responses.public_view import Document
from quarterturn.pages import sign_in, templates
from quarterturn.pages.drawing.grid import Grid

HTML, CSV, CSS = "text/html; charset=utf-8", "text/csv; charset=utf-8; header=present", "text/css; charset=utf-8"

router = APIRouter(tags=["pages"], include_in_schema=False)
style = Document.of(templates.style())


def policy(**more: str) -> dict[str, str]:
    """Return the headers of a page; `more` are directives that it needs beside, such as `script_src`."""
    have = dict(directive.split(" ", 1) for directive in SECURITY["content-security-policy"].split("; "))
    have |= {"style-src": "'self'", "form-action": "'self'"}
    have |= {name.replace("_", "-"): value for name, value in more.items()}
    return {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in have.items()),
        "referrer-policy": "same-origin",
    }


PAGE = policy()


def public(request: Request, page: str, headers: Mapping[str, str] = PAGE) -> Response:
    """Return a public page."""
    response = json_responses.published(request, Document.of(page.encode()), HTML)
    response.headers.update(headers)
    return response


def own(page: str, status: int = 200) -> Response:
    """Return a private page."""
    return HTMLResponse(page, status, {"cache-control": json_responses.PRIVATE, **PAGE})


class Page(APIRoute):
    """A route whose errors, those of other packages too, are shown as a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await answer(request)
            except Exception as error:
                if not hasattr(error, "kind"):
                    raise
                raise validation.problem_of(error) from None

        return handler


def is_page(request: Request) -> bool:
    """Say whether a request is for a page, and not for one of its tables or for what programs ask."""
    route = request.scope.get("route")
    return route is not None and (request.method, route.path) in PAGES and not route.path.endswith("/{file}")


def wants_page(request: Request) -> bool:
    """Say whether a browser asks: it accepts HTML, which the service's programs do not."""
    return "text/html" in request.headers.get("accept", "").lower()


def problem(code: str, headers: Mapping[str, str], detail: str | None = None) -> Response:
    """Return a problem as a page; `headers` go with the answer, and `detail` is the next step, if one is known."""
    page = sign_in.problem(*PROBLEMS[code], detail or DETAILS[code], other_token=code == "forbidden")
    response = own(page, PROBLEMS[code][0])
    response.headers.update(headers)
    return response


def chosen(grids: Mapping[str, Grid], file: str) -> tuple[bytes, str]:
    """Return a page's table by the last part of its address, and its media type.

    Raises:
        Problem: the page has no such table, or not in this form.
    """
    name, _, form = file.rpartition(".")
    if name not in grids or form not in ("json", "csv"):
        raise Problem("not-found")
    return (grids[name].as_json(), json_responses.JSON) if form == "json" else (grids[name].as_csv(), CSV)


@router.get("/static/style.css", name="style")
def style_sheet(request: Request) -> Response:
    """Return the style sheet of the pages."""
    return json_responses.published(request, style, CSS)
