"""Routes of the pages of agents, from the leaderboards of the public view and nothing else."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response

from quarterturn.http.responses import html, json_responses
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.public import View
from quarterturn.pages import agent as agents

router = APIRouter(tags=["pages"], include_in_schema=False)


@router.get("/agents/{submitter}/{agent}", name="agent_page")
def agent_page(request: Request, view: View, submitter: str, agent: str) -> Response:
    """Show an agent's months."""
    lines = _lines(view, submitter, agent)
    return html.public(request, agents.page(submitter, agent, lines, view.retired_results()))


@router.get("/agents/{submitter}/{agent}/{file}", name="agent_table")
def agent_table(request: Request, view: View, submitter: str, agent: str, file: str) -> Response:
    """Return a table of that page."""
    lines = _lines(view, submitter, agent)
    data, media = html.chosen(agents.grids(submitter, agent, lines, view.retired_results()), file)
    return json_responses.published(request, Document.of(data), media)


def _lines(view: View, submitter: str, agent: str) -> list[agents.Item]:
    """Return an agent's lines.

    Raises:
        Problem: it is on no leaderboard.
    """
    documents = (view.leaderboard(month) for month in view.months())
    leaderboards: list[dict[str, Any]] = [json.loads(document.body) for document in documents if document]
    lines = agents.lines(leaderboards, submitter, agent)
    if not lines:
        raise Problem("not-found")
    return lines
