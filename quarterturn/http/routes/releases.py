"""Routes of the releases: their lists and files, their attestations, and each in one file with its digest.

A download of that file can go on where it was broken off (RFC 9110, 14): one range of bytes is answered, under the
strong ETag that `If-Range` names. Several ranges, or other units, are ignored, as the RFC permits: the answer is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from quarterturn.http.responses import documents, json_responses, models
from quarterturn.http.responses.middleware import BARE
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_view import Archive, Document, PublicView
from quarterturn.http.routes.public import View

router = APIRouter(tags=["public"])

OCTETS = "application/octet-stream"
MEDIA = {".json": "application/json", ".jsonl": "application/jsonl", ".md": "text/markdown; charset=utf-8"}
TAR, TEXT = "application/x-tar", "text/plain; charset=utf-8"
PIECE = 1 << 18  # bytes
_RANGE = re.compile(r"bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))", re.ASCII)
_BINARY = {TAR: {"schema": {"type": "string", "format": "binary"}}}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": _BINARY},
    206: {"description": "The part that `Range` asks for", "content": _BINARY},
}


def bare(media: str) -> str:
    """Return a media type without its parameters."""
    return media.partition(";")[0]


class IntotoResponse(Response):
    """An in-toto statement, as the description shows its media type."""

    media_type = "application/vnd.in-toto+json"


@router.get("/releases", response_model=models.Releases, name="list_releases")
def releases(request: Request, view: View) -> Response:
    """List the releases, the oldest first."""
    listing = [
        {
            "release": name,
            "month": name.removeprefix("Historical-"),
            "attestation": f"/attestations/{name}",
            "archive": archived(view, name),
        }
        for name in view.releases()
    ]
    return json_responses.published(request, Document.of(json_responses.written({"releases": listing})))


def archived(view: PublicView, release: str) -> dict[str, Any] | None:
    """Say where a release lies in one file, or None while it does not."""
    archive = view.archive(release)
    return archive.as_json() if archive else None


@router.get("/releases/{release}.tar", response_class=Response, responses=ANSWERS, name="get_release_archive")
def release_archive(request: Request, view: View, release: str) -> Response:
    """Return a release in one file: a tar whose bytes follow from the release's files alone. `Range` is answered."""
    archive = view.archive(release)
    if archive is None:
        raise Problem("not-found")
    headers = json_responses.public_headers(archive.etag, json_responses.FOR_EVER) | {
        "accept-ranges": "bytes",
        "content-disposition": f'attachment; filename="{archive.path.name}"',
    }
    if json_responses.has(request, archive.etag):
        return Response(status_code=304, headers=headers)
    part = _part(request, archive)
    start, end = part or (0, archive.bytes)
    headers["content-length"] = str(end - start)
    if part:
        headers["content-range"] = f"bytes {start}-{end - 1}/{archive.bytes}"
    if BARE in request.scope:
        return Response(None, 206 if part else 200, headers, TAR)
    return StreamingResponse(_read(archive.path, start, end), 206 if part else 200, headers, TAR)


@router.get(
    "/releases/{release}.tar.sha256",
    response_class=Response,
    responses=models.content("text/plain"),
    name="get_release_archive_digest",
)
def release_archive_digest(request: Request, view: View, release: str) -> Response:
    """Return the SHA-256 of that file, as `sha256sum --check` takes it."""
    return json_responses.published(request, view.archive_digest(release), TEXT, keep=json_responses.FOR_EVER)


@router.get("/releases/{release}", response_model=models.ReleaseShape, name="get_release")
def release(request: Request, view: View, release: str) -> Response:
    """Return a release's manifest and files."""
    manifest, files = view.manifest(release), view.files(release)
    if manifest is None:
        raise Problem("not-found")
    listed = [
        {"name": name, "bytes": path.stat().st_size, "url": f"/releases/{release}/files/{name}"}
        for name, path in files.items()
    ]
    body = {
        "release": release,
        "manifest": json.loads(manifest.body),
        "files": listed,
        "archive": archived(view, release),
    }
    return json_responses.published(request, Document.of(json_responses.written(body)))


@router.get(
    "/releases/{release}/files/{path:path}",
    response_class=Response,
    responses=models.content(*map(bare, MEDIA.values()), OCTETS),
    name="get_release_file",
)
def release_file(request: Request, view: View, release: str, path: str) -> Response:
    """Return a file of a release, as it was published."""
    file_path = view.files(release).get(path)
    if file_path is None:
        raise Problem("not-found")
    media = MEDIA.get(file_path.suffix, OCTETS)
    document = Document.of(file_path.read_bytes())
    return json_responses.published(request, document, media, keep=json_responses.FOR_EVER, name=file_path.name)


@router.get(
    "/attestations/{release}", response_class=IntotoResponse, response_model=documents.Statement, name="get_attestation"
)
def attestation(request: Request, view: View, release: str) -> Response:
    """Return the in-toto statement of the tasks that a release published, with their hashes."""
    document = view.attestation(release)
    return json_responses.published(request, document, IntotoResponse.media_type, keep=json_responses.FOR_EVER)


def _part(request: Request, archive: Archive) -> tuple[int, int] | None:
    """Return the first byte of the part that is asked for and the one after its last; None: the whole file.

    Raises:
        Problem: the file has no such part.
    """
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    if asked is None or request.headers.get("if-range", archive.etag) != archive.etag:
        return None
    first, last, suffix = (int(number) if number else None for number in asked.groups())
    if first is None:
        start, end = max(archive.bytes - (suffix or 0), 0), archive.bytes
    elif last is not None and last < first:
        return None  # no range at all, by the RFC's grammar
    else:
        start, end = first, archive.bytes if last is None else min(last + 1, archive.bytes)
    if start >= end:
        raise Problem(
            "range", {"content-range": f"bytes */{archive.bytes}"}, field="Range", expected=f"0-{archive.bytes - 1}"
        )
    return start, end


def _read(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (piece := file.read(min(PIECE, end - start))):
            start += len(piece)
            yield piece
