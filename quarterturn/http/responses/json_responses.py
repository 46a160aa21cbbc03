"""HTTP answers: canonical JSON, ETags that are hashes of published bytes, and pages with a cursor."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fastapi import Request, Response

from quarterturn.http.responses import models
from quarterturn.http.responses.problems import Invalid, Problem
from quarterturn.http.responses.public_view import Document

JSON = "application/json"
PUBLIC = "public, max-age=30"
FOR_EVER = "public, max-age=31536000, immutable"
PRIVATE = "no-store"
DEFAULT_PAGE_ENTRIES, MAX_PAGE_ENTRIES = 50, 200

T = TypeVar("T")


def plain(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a private JSON answer: not cached, and without an ETag."""
    return Response(written(data), status, {"cache-control": PRIVATE, **(headers or {})}, JSON)


def published(
    request: Request, document: Document | None, media: str = JSON, *, keep: str = PUBLIC, name: str | None = None
) -> Response:
    """Return published bytes, or status 304 where the client has this version already.

    Raises:
        Problem: there is nothing.
    """
    if document is None:
        raise Problem("not-found")
    headers = public_headers(document.etag, keep)
    if name is not None:
        headers["content-disposition"] = f'inline; filename="{name}"'
    if has(request, document.etag):
        return Response(status_code=304, headers=headers)
    return Response(document.body, 200, headers, media)


def public_headers(etag: str, keep: str) -> dict[str, str]:
    """Return the headers of published bytes; pages of other sites may read them."""
    headers = {"etag": etag, "cache-control": keep, "access-control-allow-origin": "*"}
    return headers | {"cross-origin-resource-policy": "cross-origin"}


def has(request: Request, etag: str) -> bool:
    """Say whether a client names this version; a weak comparison, as RFC 9110 (13.1.2) asks for."""
    given = request.headers.get("if-none-match", "")
    return given.strip() == "*" or etag in {tag.strip().removeprefix("W/") for tag in given.split(",")}


def written(data: Any) -> bytes:
    """Write JSON; the same value gives the same bytes."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def page(items: Sequence[T], key: Callable[[T], str], cursor: str | None, limit: int) -> tuple[Sequence[T], str | None]:
    """Return the items after a cursor, and the cursor of the next page (None: there is none).

    Raises:
        Problem: the cursor is none that was given out.
    """
    start = 0
    if cursor is not None:
        names = [key(item) for item in items]
        last = opened(cursor)
        if last not in names:
            raise unknown_cursor()
        start = names.index(last) + 1
    part = items[start : start + limit]
    more = start + limit < len(items)
    return part, sealed(key(part[-1])) if more and part else None


def sealed(last: str) -> str:
    """Write a cursor: it says after what the next page begins."""
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def opened(cursor: str) -> str:
    """Read a cursor.

    Raises:
        Problem: it is none.
    """
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        raise unknown_cursor() from None
    if sealed(text) != cursor:
        raise unknown_cursor()
    return text


def unknown_cursor() -> Problem:
    """Return the problem of a cursor that was not given out; it may name a task, so it is not repeated."""
    detail = (
        "This cursor is not one that this list gave out. Begin again without it, or send `next` of the page before."
    )
    expected = models.WORDS[models.CURSOR]
    wrong = Invalid(pointer="/query/cursor", reason="unknown", expected=expected)
    return Problem("invalid", detail=detail, field="cursor", expected=expected, errors=[wrong])
