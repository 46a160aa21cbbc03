"""Public pages: for people what the routes of the public view are for programs, from that view and nothing else."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from quarterturn.pages import rotation
from quarterturn.service import html
from quarterturn.service.problems import Problem
from quarterturn.service.public import View

router = APIRouter(tags=["pages"], include_in_schema=False)


@router.get("/rotation", name="rotation_page")
def rotation_page(request: Request, view: View) -> Response:
    """Show the cohorts and when the next turn is due."""
    found = view.rotations()
    if found is None:
        raise Problem("not-found")
    return html.public(request, [found], lambda: rotation.page(json.loads(found.body)))


@router.get("/rotation/{file}", name="rotation_table")
def rotation_table(request: Request, view: View, file: str) -> Response:
    """Give a table of that page."""
    found = view.rotations()
    if found is None:
        raise Problem("not-found")
    data, media = html.chosen(rotation.grids(json.loads(found.body)), file)
    return html.public(request, [found], lambda: data, media=media, headers={})
