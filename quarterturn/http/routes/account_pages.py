"""Routes of pages behind sign-in: a submitter's submissions, and the findings for maintainers and reviewers.

Each shows what the JSON route with the same scope gives, and is not cached.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from quarterturn.errors import NotFound
from quarterturn.findings.finding_list import listed as listed_findings
from quarterturn.http.dependencies.services import (
    Calendar,
    DisplayNames,
    Findings,
    RunMeasures,
    Submissions,
    Submitting,
    Traces,
    View,
)
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import html, json_responses
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.submissions import Id, events, listed
from quarterturn.pages import display_names, findings, submission, submission_form, templates, trace
from quarterturn.pages.display_names import NameForm
from quarterturn.pages.drawing.grid import Grid
from quarterturn.pages.submission_form import Form

router = APIRouter(tags=["pages"], include_in_schema=False, route_class=html.Page)

JAVASCRIPT = "text/javascript; charset=utf-8"
LIVE = html.policy(script_src="'self'", connect_src="'self'")
script = Document.of(templates.script("submission.js"))

Cursor = Annotated[str | None, Query(max_length=64)]
Everything = Annotated[bool, Query(alias="all")]


class _OwnPages:
    """What the pages of a submitter show."""

    def __init__(  # noqa: PLR0917 - FastAPI gives each by its type
        self,
        submissions: Submissions,
        submitting: Submitting,
        view: View,
        traces: Traces,
        measures: RunMeasures,
        calendar: Calendar,
        names: DisplayNames,
    ) -> None:
        self._submissions, self._submitting, self._view = submissions, submitting, view
        self._traces, self._measures, self._calendar, self._names = traces, measures, calendar, names

    def quotas(self, account: str) -> dict[str, Any]:
        """Return the use and the rest of each quota."""
        return self._submitting.quotas(account)

    def cancel(self, name: str, account: str) -> None:
        """Cancel a submission."""
        self._submitting.cancel(name, account)

    def overview(
        self, account: str, form: Form, service: str, cursor: str | None = None, *, sent: NameForm | None = None
    ) -> str:
        """Draw the page of an account's submissions, with its forms.

        Args:
            account: whose page it is.
            form: the form for another submission.
            service: the address of the service.
            cursor: of a page of older submissions.
            sent: the form of a name that was sent, with what is wrong in it.
        """
        documents, more = self.listed(account, cursor)
        queries = [f"?cursor={place}" if place else "" for place in (cursor, more)]
        quotas, policy = self.quotas(account), self._submitting.policy
        images = policy.prefixes(account)
        shown = submission_form.view(form, quotas, service, images=images, models=policy.models)
        names = display_names.forms(account, self._names.of(account), sent)
        return submission.overview(account, documents, quotas, *queries, submit=shown, names=names)

    def listed(self, account: str, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of the submissions, and the cursor of the next one."""
        records, more = listed(self._submissions, account, cursor)
        return self._view.each(records), more

    def page(self, name: str, account: str) -> str:
        """Draw the page of a submission."""
        record = self._submissions.get(name, account)
        document, waits, trace = self._view.of(record), self._view.waits(record), self.trace(name, account)
        retry = record.not_before.isoformat() if record.not_before else None
        due = self._calendar.next()[1].isoformat()
        measured, quotas = self._measured(name, trace, account), self.quotas(account)
        return submission.page(account, document, waits, quotas, trace, measured=measured, retry=retry, due=due)

    def grids(self, name: str, account: str) -> dict[str, Grid]:
        """Return the tables of a submission's page."""
        document = self._view.of(self._submissions.get(name, account))
        trace = self.trace(name, account)
        return submission.grids(document, self.quotas(account), trace, self._measured(name, trace, account))

    def trace_page(self, name: str, account: str) -> str:
        """Draw the trace of a run whose measures are public.

        Raises:
            NotFound: nothing of it can be shown yet, or it has no measures.
        """
        figures = self._measured(name, self.trace(name, account), account)
        if figures is None:
            raise NotFound(f"submission {name} has no measures: runs on the dev set have, once they are done")
        return trace.page(figures)

    def _measured(self, name: str, trace: Mapping[str, Any] | None, account: str) -> dict[str, Any] | None:
        """Return what is shown of a run's measures, or None where it has none."""
        return self._measures.figures(f"Submission {name}", trace, account) if trace else None

    def trace(self, name: str, account: str) -> dict[str, Any] | None:
        """Return what may be shown of a run, or None where that is nothing."""
        try:
            trace: dict[str, Any] = self._traces.own(name, account)["trace"]
        except NotFound:
            return None
        return trace


Own = Annotated[_OwnPages, Depends(_OwnPages)]


def fresh_key() -> str:
    """Draw an idempotency key for a form: what is sent twice is one submission."""
    return secrets.token_urlsafe(16)


@router.get("/mine", name="submissions_page")
def mine(request: Request, own: Own, who: Who, cursor: Cursor = None) -> Response:
    """Show the caller's submissions and quotas, and a form for another one."""
    return html.own(own.overview(who.account, Form(fresh_key()), service_address(request), cursor))


def service_address(request: Request) -> str:
    """Return the address of the service as this caller knows it, without a slash at the end."""
    return str(request.base_url).rstrip("/")


@router.get("/mine/{file}", name="submissions_table")
def mine_table(own: Own, who: Who, file: str, cursor: Cursor = None) -> Response:
    """Return a table of that page."""
    documents, _ = own.listed(who.account, cursor)
    tables = (submission.submissions(documents), submission.budget(own.quotas(who.account)))
    return _table({grid.name: grid for grid in tables}, file)


@router.get("/submission/{id}", name="submission_page")
def one(own: Own, who: Who, id: Id) -> Response:  # noqa: A002 - the path's own word
    """Show a submission's state, and what its owner may see of it."""
    response = html.own(own.page(id, who.account))
    response.headers.update(LIVE)
    return response


@router.get("/submission/{id}/events", name="submission_page_events")
def page_events(request: Request, store: Submissions, view: View, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Return the page's script the events that the interface gives: a page takes the cookie, and the interface none."""
    return events(request, store, view, who, id)


@router.get("/static/submission.js", name="submission_script")
def submission_script(request: Request) -> Response:
    """Return the script that keeps that page up to date."""
    return json_responses.published(request, script, JAVASCRIPT)


@router.get("/submission/{id}/trace", name="submission_trace")
def one_trace(own: Own, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Show each call of a run on the dev set beside the reference solution's, in one file that can be kept."""
    response = html.own(own.trace_page(id, who.account))
    response.headers.update(html.policy(style_src=trace.style_hash()))
    return response


@router.get("/submission/{id}/{file}", name="submission_table")
def one_table(own: Own, who: Who, id: Id, file: str) -> Response:  # noqa: A002 - likewise
    """Return a table of that page."""
    return _table(own.grids(id, who.account), file)


@router.post("/submission/{id}/cancel", name="cancel_by_form")
def cancel(own: Own, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Cancel a submission, and show its page."""
    own.cancel(id, who.account)
    return RedirectResponse(f"/submission/{id}", 303, {"cache-control": json_responses.PRIVATE, **html.PAGE})


@router.get("/findings/details", name="findings_page")
def findings_page(store: Findings, who: Who, *, everything: Everything = False) -> Response:
    """Show the findings with their reviews."""
    listing = listed_findings(store, None, everything=everything).as_json()
    return html.own(findings.page(who.account, listing, everything=everything))


@router.get("/findings/details/{file}", name="findings_table")
def findings_table(store: Findings, file: str, *, everything: Everything = False) -> Response:
    """Return a table of that page."""
    listing = listed_findings(store, None, everything=everything).as_json()
    return _table(findings.grids(listing), file)


def _table(grids: Mapping[str, Grid], file: str) -> Response:
    data, media = html.chosen(grids, file)
    return Response(data, 200, {"cache-control": json_responses.PRIVATE}, media)
