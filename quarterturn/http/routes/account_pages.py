"""Routes of pages behind sign-in: a submitter's submissions, and the findings for maintainers and reviewers.

Each shows what the JSON route with the same scope gives, and is not cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse

from quarterturn.app import Application
from quarterturn.errors import NotFound
from quarterturn.findings.finding_list import listed as listed_findings
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import html, json_responses
from quarterturn.http.routes.submissions import Home, Id, listed
from quarterturn.pages import findings, submission
from quarterturn.pages.drawing.grid import Grid

router = APIRouter(tags=["pages"], include_in_schema=False, route_class=html.Page)

Cursor = Annotated[str | None, Query(max_length=64)]
Everything = Annotated[bool, Query(alias="all")]


@router.get("/mine", name="submissions_page")
def mine(house: Home, who: Who, cursor: Cursor = None) -> Response:
    """Show the caller's submissions and quotas."""
    records, more = _mine(house, who.account, cursor)
    queries = [f"?cursor={position}" if position else "" for position in (cursor, more)]
    return html.own(submission.overview(who.account, records, house.submission_service.quotas(who.account), *queries))


@router.get("/mine/{file}", name="submissions_table")
def mine_table(house: Home, who: Who, file: str, cursor: Cursor = None) -> Response:
    """Give a table of that page."""
    records, _ = _mine(house, who.account, cursor)
    tables = (submission.submissions(records), submission.budget(house.submission_service.quotas(who.account)))
    return _table({grid.name: grid for grid in tables}, file)


@router.get("/submission/{id}", name="submission_page")
def one(house: Home, who: Who, id: Id) -> Response:  # noqa: A002 - the path's own word
    """Show a submission's state, and what its owner may see of it."""
    record = house.submissions.get(id, who.account)
    document = house.owner_view.of(record) | {"agent": record.reference}
    quotas, trace = house.submission_service.quotas(who.account), _trace(house, id, who.account)
    return html.own(submission.page(who.account, document, house.owner_view.waits(record), quotas, trace))


@router.get("/submission/{id}/{file}", name="submission_table")
def one_table(house: Home, who: Who, id: Id, file: str) -> Response:  # noqa: A002 - likewise
    """Give a table of that page."""
    document = house.owner_view.of(house.submissions.get(id, who.account))
    return _table(
        submission.grids(document, house.submission_service.quotas(who.account), _trace(house, id, who.account)), file
    )


@router.post("/submission/{id}/cancel", name="cancel_by_form")
def cancel(house: Home, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Cancel a submission, and show its page."""
    house.submission_service.cancel(id, who.account)
    return RedirectResponse(f"/submission/{id}", 303, {"cache-control": json_responses.PRIVATE, **html.PAGE})


@router.get("/findings/details", name="findings_page")
def findings_page(house: Home, who: Who, *, everything: Everything = False) -> Response:
    """Show the findings with their reviews."""
    listing = listed_findings(house.findings, None, everything=everything).as_json()
    return html.own(findings.page(who.account, listing, everything=everything))


@router.get("/findings/details/{file}", name="findings_table")
def findings_table(house: Home, file: str, *, everything: Everything = False) -> Response:
    """Give a table of that page."""
    listing = listed_findings(house.findings, None, everything=everything).as_json()
    return _table(findings.grids(listing), file)


def _mine(house: Application, account: str, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    records, more = listed(house, account, cursor)
    line = house.queue.waiting()
    return [house.owner_view.of(record, line) | {"agent": record.reference} for record in records], more


def _trace(house: Application, name: str, account: str) -> dict[str, Any] | None:
    """Give what may be shown of a run, or None where that is nothing."""
    try:
        trace: dict[str, Any] = house.traces.own(name, account)["trace"]
    except NotFound:
        return None
    return trace


def _table(grids: Mapping[str, Grid], file: str) -> Response:
    data, media = html.chosen(grids, file)
    return Response(data, 200, {"cache-control": json_responses.PRIVATE}, media)
