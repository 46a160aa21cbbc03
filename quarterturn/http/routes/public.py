"""Routes of the public view: tasks, leaderboard, rotations and findings."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from quarterturn.http.responses import documents, json_responses, models
from quarterturn.http.responses.json_responses import DEFAULT_PAGE_ENTRIES, MAX_PAGE_ENTRIES
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_view import Document, PublicView

router = APIRouter(tags=["public"])


def view(request: Request) -> PublicView:
    """Return the public view, which is all that these routes know."""
    public_view: PublicView = request.app.state.view
    return public_view


View = Annotated[PublicView, Depends(view)]


@router.get("/tasks", response_model=models.TaskPage, name="list_tasks")
def tasks(
    request: Request,
    view: View,
    of: Annotated[str | None, Query(alias="set", description="`dev`, or a release.", max_length=32)] = None,
    cursor: models.Cursor | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_ENTRIES)] = DEFAULT_PAGE_ENTRIES,
) -> Response:
    """List the public tasks: the dev set, and every set that has retired."""
    listed, more = json_responses.page(view.tasks(of), lambda item: item["id"], cursor, limit)
    return json_responses.published(request, Document.of(json_responses.written({"tasks": listed, "next": more})))


@router.get("/tasks/{id}", response_model=models.TaskDetail, name="get_task")
def task(request: Request, view: View, id: str) -> Response:  # noqa: A002 - the path's own word
    """Return a public task. The answer for a private task is the same as for an id that does not exist."""
    found = view.task(id)
    return json_responses.published(request, Document.of(json_responses.written(found)) if found else None)


@router.get("/leaderboard", response_model=documents.LeaderboardShape, name="leaderboard")
def leaderboard(
    request: Request,
    view: View,
    month: Annotated[models.MonthName | None, Query(description="YYYY-MM (default: the newest).")] = None,
    track: Annotated[
        Literal["docker", "docker-model-gateway", "docker-judged", "endpoint", "unofficial"] | None,
        Query(description="One track."),
    ] = None,
) -> Response:
    """Return a month's leaderboard: every figure with its interval, ranks within a track."""
    months = view.months()
    document = view.leaderboard(month or (months[-1] if months else ""))
    if document is None:
        raise Problem("not-found", detail="This month has no leaderboard. GET /rotations lists the turns.")
    if track is not None:
        document = Document.of(_of_track(document.body, track))
    return json_responses.published(request, document)


def _of_track(body: bytes, track: str) -> bytes:
    leaderboard = json.loads(body)
    leaderboard["lines"] = [line for line in leaderboard["lines"] if line["track"] == track]
    return json_responses.written(leaderboard)


@router.get("/rotations", response_model=documents.Rotations, name="rotations")
def rotations(request: Request, view: View) -> Response:
    """Return the turns, the cohorts with their sizes, and when the next turn is due."""
    return json_responses.published(request, view.rotations())


@router.get("/findings", response_model=documents.FindingCounts, name="findings")
def findings(request: Request, view: View) -> Response:
    """Count the findings of months that are over, by kind; nobody is named."""
    return json_responses.published(request, view.findings())
