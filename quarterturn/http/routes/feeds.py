"""Routes of the Atom feeds of releases and checkpoints, from the public view and the public log alone."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from quarterturn.http.responses import json_responses
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.log import TEXT, Log
from quarterturn.http.routes.public import View
from quarterturn.pages.feeds import Entry, Feed, written

router = APIRouter(prefix="/feeds", tags=["pages"], include_in_schema=False)

ATOM = "application/atom+xml; charset=utf-8"
MAX_FEED_ENTRIES = 50


def rotations(view: View) -> dict[str, Any]:
    """Return the public document of rotations."""
    rotations_document = view.rotations()
    if rotations_document is None:
        raise Problem("not-found")
    document: dict[str, Any] = json.loads(rotations_document.body)
    return document


Rotations = Annotated[dict[str, Any], Depends(rotations)]


@router.get("/releases.atom", name="release_feed")
def releases(request: Request, view: View, rotations: Rotations) -> Response:
    """Return the feed of releases."""
    release_names = set(view.releases())
    entries = [
        Entry(
            turn["release"],
            f"{turn['release']}: the cohort of {turn['month']} is published",
            datetime.fromisoformat(turn["started_at"]),
            f"/releases/{turn['release']}",
            json_responses.JSON,
            "Its tasks with their hashes and salts, the leaves of the log and the results of every run on them: "
            "all that an audit needs.",
        )
        for turn in rotations["turns"]
        if turn["release"] in release_names
    ]
    return _fed(request, rotations, "releases", "Releases", entries[::-1][:MAX_FEED_ENTRIES])


@router.get("/checkpoints.atom", name="checkpoint_feed")
def checkpoints(request: Request, log: Log, rotations: Rotations) -> Response:
    """Return the feed of the log's checkpoints."""
    entries = [
        Entry(str(size), f"The log has {size} leaves", at, f"/log/checkpoints/{size}", TEXT, note)
        for size, at, note in log.newest(MAX_FEED_ENTRIES)
    ]
    return _fed(request, rotations, "checkpoints", "Checkpoints of the log", entries)


def _fed(request: Request, rotations: dict[str, Any], name: str, title: str, entries: list[Entry]) -> Response:
    of = rotations["benchmark"]
    feed = Feed(name, f"{of['origin']}: {title}", of["origin"], of["first_month"], entries)
    return json_responses.published(request, Document.of(written(feed)), ATOM)
