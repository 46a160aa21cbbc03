"""Public pages: for people what the routes of the public view are for programs, from that view and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from quarterturn.pages import board, rotation
from quarterturn.pages.grid import Grid
from quarterturn.service import answers, html
from quarterturn.service.problems import Problem
from quarterturn.service.public import View
from quarterturn.service.view import Document

Grids = Callable[[Mapping[str, Any]], Mapping[str, Grid]]

router = APIRouter(tags=["pages"], include_in_schema=False)


@router.get("/", name="front_page")
def front(request: Request, view: View) -> Response:
    """Show the newest board."""
    months = view.months()
    return _board(request, view, months[-1]) if months else _nothing(request, view)


@router.get("/board/{month}", name="board_page")
def board_page(request: Request, view: View, month: str) -> Response:
    """Show a month's board."""
    return _board(request, view, month)


@router.get("/board/{month}/{file}", name="board_table")
def board_table(request: Request, view: View, month: str, file: str) -> Response:
    """Give a table of that page."""
    found = _there(view.board(month))
    return _table(request, found, board.grids, file)


@router.get("/rotation", name="rotation_page")
def rotation_page(request: Request, view: View) -> Response:
    """Show the cohorts and when the next turn is due."""
    found = _there(view.rotations())
    return html.public(request, [found], lambda: rotation.page(json.loads(found.body)))


@router.get("/rotation/{file}", name="rotation_table")
def rotation_table(request: Request, view: View, file: str) -> Response:
    """Give a table of that page."""
    return _table(request, _there(view.rotations()), rotation.grids, file)


def _board(request: Request, view: View, month: str) -> Response:
    found, months, rotations = _there(view.board(month)), view.months(), view.rotations()
    sources = [found, Document.of(repr(months).encode()), rotations]
    return html.public(
        request,
        sources,
        lambda: board.page(json.loads(found.body), months, json.loads(rotations.body) if rotations else None),
    )


def _nothing(request: Request, view: View) -> Response:
    rotations = view.rotations()
    return html.public(request, [rotations], lambda: board.empty(json.loads(rotations.body) if rotations else None))


def _table(request: Request, found: Document, grids: Grids, file: str) -> Response:
    data, media = html.chosen(grids(json.loads(found.body)), file)
    return answers.published(request, Document.of(data), media)


def _there(found: Document | None) -> Document:
    if found is None:
        raise Problem("not-found")
    return found
