"""Routes of the public pages: leaderboard, rotation and releases, from the public view and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from quarterturn.http.responses import html, json_responses
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.log import Log
from quarterturn.http.routes.public import View
from quarterturn.http.routes.releases import archived
from quarterturn.pages import leaderboard, rotation, task
from quarterturn.pages import release as releases
from quarterturn.pages.drawing.grid import Grid

router = APIRouter(tags=["pages"], include_in_schema=False)

Item = dict[str, Any]
LeafIndex = Annotated[int, Path(ge=0, le=2**53)]


@router.get("/", name="front_page")
def front(request: Request, view: View) -> Response:
    """Show what the benchmark is, and the newest leaderboard."""
    months = view.months()
    if not months:
        return html.public(request, leaderboard.empty(_rotations(view)))
    return _leaderboard(request, view, months[-1], front=True)


@router.get("/leaderboard/{month}", name="leaderboard_page")
def leaderboard_page(request: Request, view: View, month: str) -> Response:
    """Show a month's leaderboard."""
    return _leaderboard(request, view, month)


@router.get("/leaderboard/{month}/{file}", name="leaderboard_table")
def leaderboard_table(request: Request, view: View, month: str, file: str) -> Response:
    """Return a table of that page."""
    return _table(request, leaderboard.grids, view.leaderboard(month), file)


@router.get("/rotation", name="rotation_page")
def rotation_page(request: Request, view: View) -> Response:
    """Show the cohorts and when the next turn is due."""
    return html.public(request, rotation.page(_read(view.rotations())))


@router.get("/rotation/{file}", name="rotation_table")
def rotation_table(request: Request, view: View, file: str) -> Response:
    """Return a table of that page."""
    return _table(request, rotation.grids, view.rotations(), file)


@router.get("/release/{release}", name="release_page")
def release_page(request: Request, view: View, release: str) -> Response:
    """Show a release's files and how to check them."""
    return html.public(request, releases.page(release, _release(view, release), archived(view, release)))


@router.get("/release/{release}/{file}", name="release_table")
def release_table(request: Request, view: View, release: str, file: str) -> Response:
    """Return a table of that page."""
    data, media = html.chosen(releases.grids(release, _release(view, release)), file)
    return json_responses.published(request, Document.of(data), media)


@router.get("/task/{id}", name="task_page")
def task_page(request: Request, view: View, id: str) -> Response:  # noqa: A002 - the path's own word
    """Show a public task: its goal, what passing takes, and the commitment that it opens."""
    found = view.task(id)
    if found is None:
        raise Problem("not-found")
    if not found["opening"]:
        return html.public(request, task.page(found, None))
    passes = view.passes(found["set"], id)
    return html.public(request, task.page(found, releases.address(found["set"]), passes, view.lines()))


@router.get("/leaf/{index}", name="leaf_page")
def leaf_page(request: Request, log: Log, index: LeafIndex) -> Response:
    """Show a leaf of the public log."""
    found = log.leaf(index)
    if found is None:
        raise Problem("not-found")
    leaf, size = found
    return html.public(request, task.leaf_page(index, size, leaf))


def _leaderboard(request: Request, view: View, month: str, *, front: bool = False) -> Response:
    document, months = _read(view.leaderboard(month)), view.months()
    before = None
    if not document["lines"]:
        earlier = (_read(view.leaderboard(one)) for one in reversed(months) if one < month)
        before = next((one for one in earlier if one["lines"]), None)
    asked = request.query_params
    return html.public(request, leaderboard.page(document, months, _rotations(view), asked, before=before, front=front))


def _release(view: View, release: str) -> releases.Published:
    manifest = _read(view.manifest(release))
    sizes = {name: path.stat().st_size for name, path in view.files(release).items()}
    return releases.Published(manifest, sizes, view.tasks(release), view.retired_results(release), view.lines())


def _table(
    request: Request, grids: Callable[[Item], Mapping[str, Grid]], document: Document | None, file: str
) -> Response:
    data, media = html.chosen(grids(_read(document)), file)
    return json_responses.published(request, Document.of(data), media)


def _rotations(view: View) -> Item | None:
    document = view.rotations()
    return _read(document) if document else None


def _read(source: Document | None) -> Item:
    if source is None:
        raise Problem("not-found")
    document: Item = json.loads(source.body)
    return document
