"""Routes for submitters: submitting, checks, status and events, cancelling, publishing runs, quotas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from quarterturn.choices import SubmissionSet
from quarterturn.errors import Malformed
from quarterturn.http.dependencies.services import Executor, Submissions, Submitting, Traces, View
from quarterturn.http.identity.auth import Perhaps, Who
from quarterturn.http.responses import event_streams, json_responses, models, problems
from quarterturn.http.responses.event_streams import Crowded, Look, Watchers
from quarterturn.http.responses.json_responses import DEFAULT_PAGE_ENTRIES, MAX_PAGE_ENTRIES
from quarterturn.http.responses.problems import Limit, Problem
from quarterturn.http.responses.validation import of_field
from quarterturn.submissions.store.requests import UNFINISHED, SubmissionRecord, SubmissionRequest
from sandbox.errors import SandboxError

router = APIRouter(tags=["submissions"])

BEAT = 15  # seconds between keep-alive comments of an event stream
LONGEST_WATCH = 3600  # seconds; then the client connects again

ENDPOINT = (
    "a URL as https://agent.example.org/tasks: a full name or a public address, port 443 or one from 1024 on, "
    "without user and fragment"
)

Id = Annotated[str, Path(description="A submission's id.", max_length=64), models.of_form(models.SUBMISSION)]
Key = Annotated[str | None, Header(description="A repeated key repeats nothing.", min_length=1, max_length=200)]


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


class SubmissionIntake:
    """Takes a submission, and answers with it."""

    def __init__(self, submitting: Submitting, view: View, executor: Executor) -> None:
        self._submitting, self._view, self._executor = submitting, view, executor

    def answer(self, account: str, wanted: models.Agent, kind: SubmissionSet, idempotency_key: str | None) -> Response:
        """Answer with the submission: 201 where it is new, 200 where the key was used for it before."""
        made, new = self._submitting.submit(account, _request(wanted, kind), idempotency_key=idempotency_key)
        self._executor.wake()
        return json_responses.plain(self._view.of(made), 201 if new else 200, {"location": f"/submissions/{made.id}"})


def _request(wanted: models.Agent, kind: SubmissionSet) -> SubmissionRequest:
    """Return what is asked for.

    Raises:
        Problem: it names not exactly one agent, or one that could never be run.
    """
    counts = isinstance(wanted, models.NewSubmission) and wanted.counts
    if wanted.image is None and wanted.endpoint is None:
        raise Problem("invalid", **of_field("image", "an image or an endpoint; neither was given"))
    if wanted.image is not None and wanted.endpoint is not None:
        raise Problem("invalid", **of_field("endpoint", "an image or an endpoint; both were given"))
    if counts and kind != "private":
        raise Problem("invalid", **of_field("counts", "false, unless `set` is private", given=True))
    try:
        return SubmissionRequest(kind, wanted.image, wanted.endpoint, wanted.model, counts)
    except (Malformed, SandboxError):
        if wanted.endpoint is not None:
            raise Problem("invalid", **of_field("endpoint", ENDPOINT)) from None
        expected = f"{models.WORDS[models.IMAGE]}, such as {models.EXAMPLES[models.IMAGE]}"
        raise Problem("invalid", **of_field("image", expected, wanted.image)) from None


AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": models.SubmissionShape, "description": "The submission that this key was used for before."}
}
Intake = Annotated[SubmissionIntake, Depends(SubmissionIntake)]


@router.post("/submissions", status_code=201, response_model=models.SubmissionShape, responses=AGAIN, name="submit")
def submit(intake: Intake, who: Who, wanted: models.NewSubmission, idempotency_key: Key = None) -> Response:
    """Submit an agent."""
    return intake.answer(who.account, wanted, wanted.set, idempotency_key)


@router.post("/checks", status_code=201, response_model=models.SubmissionShape, responses=AGAIN, name="check")
def check(intake: Intake, who: Who, wanted: models.Agent, idempotency_key: Key = None) -> Response:
    """Try an agent on one task of the dev set; this uses only the quota of checks."""
    return intake.answer(who.account, wanted, "check", idempotency_key)


@router.get("/submissions", response_model=models.SubmissionPage, name="list_submissions")
def submissions(
    store: Submissions,
    view: View,
    who: Who,
    cursor: models.Cursor | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_ENTRIES)] = DEFAULT_PAGE_ENTRIES,
) -> Response:
    """List the caller's submissions, the newest first."""
    records, more = listed(store, who.account, cursor, limit)
    return json_responses.plain({"submissions": view.each(records), "next": more})


def listed(
    store: Submissions, account: str, cursor: str | None, limit: int = DEFAULT_PAGE_ENTRIES
) -> tuple[Sequence[SubmissionRecord], str | None]:
    """Return a page of an account's submissions, and the cursor of the next one (None: there is none).

    Raises:
        Problem: the cursor is none that was given out.
    """
    after = json_responses.opened(cursor) if cursor is not None else None
    if after is not None and not (after.isdecimal() and len(after) < 19):  # noqa: PLR2004 - fits a column
        raise json_responses.unknown_cursor()
    records = store.of(account, after=int(after) if after else None, limit=limit + 1)
    return records[:limit], json_responses.sealed(str(records[limit - 1].number)) if len(records) > limit else None


@router.get("/submissions/{id}", response_model=models.SubmissionShape, name="get_submission")
def submission(store: Submissions, view: View, who: Who, id: Id) -> Response:  # noqa: A002 - the path's own word
    """Return a submission's state, and its figures once it is done."""
    return json_responses.plain(view.of(store.get(id, who.account)))


@router.get("/submissions/{id}/events", response_class=EventStream, name="watch_submission")
def events(request: Request, store: Submissions, view: View, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Send each change of a submission as a server-sent event, until it has ended.

    Of a private run these are changes of its state.
    """
    return SubmissionEvents(
        request.app.state.watchers, who.account, id, looks(store, view, [store.get(id, who.account).id])[id]
    )


class SubmissionEvents(Response):
    """The event stream of a submission, from how it stands now to its end.

    It is registered while it is sent, and not before: a client that is gone by then leaves nothing behind.
    """

    def __init__(self, watchers: Watchers, account: str, name: str, now: Look) -> None:
        super().__init__()
        self._watchers, self._account, self._name, self._now = watchers, account, name, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or the problem that the account has too many."""
        headers = {"cache-control": json_responses.PRIVATE, "x-accel-buffering": "no"}
        try:
            with self._watchers.watching(self._name, self._account, self._now) as heard:
                changes = _changes(heard, self._now)
                await EventStream(changes, 200, headers)(scope, receive, send)
        except Crowded:
            most, then = event_streams.MAX_STREAMS_PER_ACCOUNT, "Close one, or poll /submissions/{id}."
            detail = f"This account has {most} open event streams, as many as may be. {then}"
            limit = Limit(name="streams", value=most, unit="open streams", retry_after=BEAT)
            refusal = problems.answer("rate", {"retry-after": str(BEAT)}, detail=detail, limit=limit)
            await refusal(scope, receive, send)


async def _changes(heard: asyncio.Queue[Look], now: Look) -> AsyncIterator[bytes]:
    end = time.monotonic() + LONGEST_WATCH
    yield _event(now)
    while now.state in UNFINISHED and time.monotonic() < end:
        try:
            now = await asyncio.wait_for(heard.get(), BEAT)
            yield _event(now)
        except TimeoutError:
            yield b": still here\n\n"


def _event(look: Look) -> bytes:
    return b"event: submission\ndata: " + look.data + b"\n\n"


def looks(store: Submissions, view: View, names: Collection[str]) -> dict[str, Look]:
    """Return the state of several submissions, in one query of the queue."""
    records = store.some(names)
    return {
        record.id: Look(record.state, json_responses.written(shown), record.tasks == "private")
        for record, shown in zip(records, view.each(records), strict=True)
    }


@router.post("/submissions/{id}/cancel", response_model=models.SubmissionShape, name="cancel")
def cancel(submitting: Submitting, view: View, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Cancel a submission: a waiting one costs nothing, a running one is stopped."""
    return json_responses.plain(view.of(submitting.cancel(id, who.account)))


@router.get("/quota", response_model=models.Quotas, name="quota")
def quota(submitting: Submitting, who: Who) -> Response:
    """Return the use and the rest of each quota."""
    return json_responses.plain(submitting.quotas(who.account))


@router.get("/runs/{id}", response_model=models.RunShape, name="get_run", tags=["public"])
def run(traces: Traces, who: Perhaps, id: Id) -> Response:  # noqa: A002 - likewise
    """Return a run's tasks: to everybody if its owner has published it, to its owner as far as the tasks are public."""
    document = traces.published(id)
    if document is None and who is not None:
        document = traces.own(id, who.account)
    if document is None:
        raise Problem("not-found")
    return json_responses.plain(document)


@router.put("/runs/{id}/publication", response_model=models.RunShape, name="publish_run")
def publish(traces: Traces, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Publish one of the caller's runs, as far as its tasks are public now."""
    return json_responses.plain(traces.publish(id, who.account, public=True))


@router.delete("/runs/{id}/publication", response_model=models.RunShape, name="withdraw_run")
def withdraw(traces: Traces, who: Who, id: Id) -> Response:  # noqa: A002 - likewise
    """Withdraw the publication of one of the caller's runs."""
    return json_responses.plain(traces.publish(id, who.account, public=False))
