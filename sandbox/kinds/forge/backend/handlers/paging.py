"""Pagination of lists, with the Link header (RFC 8288)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.protocol.errors import unprocessable
from sandbox.kinds.forge.backend.protocol.urls import API
from sandbox.kinds.forge.backend.protocol.web import HttpResponse

T = TypeVar("T")
DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS = 30, 100
SEARCHED = 1000  # results of a search that can be had


def listed(call: ApiCall, items: Sequence[T], show: Callable[[T], Any]) -> HttpResponse:
    """Answer with one page of a list; only what is on the page is rendered."""
    page, size = _wanted(call)
    return HttpResponse(200, [show(item) for item in _cut(items, page, size)], _links(call, page, size, len(items)))


def found(call: ApiCall, items: Sequence[T], show: Callable[[T], Any], **more: Any) -> HttpResponse:
    """Answer with one page of what a search found; `more` stands beside it.

    Raises:
        ApiError: the page is beyond what a search gives.
    """
    page, size = _wanted(call)
    if page * size > SEARCHED and page > 1:
        raise unprocessable("Only the first 1000 search results are available")
    part = [show(item) for item in _cut(items, page, size)]
    body = {"total_count": len(items), "incomplete_results": False, **more, "items": part}
    return HttpResponse(200, body, _links(call, page, size, min(len(items), SEARCHED)))


def _wanted(call: ApiCall) -> tuple[int, int]:
    size = _number(call.query("per_page"), DEFAULT_PAGE_ITEMS)
    return max(_number(call.query("page"), 1), 1), min(size, MAX_PAGE_ITEMS) if size > 0 else DEFAULT_PAGE_ITEMS


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default  # noqa: PLR2004 - of digits


def _cut(items: Sequence[T], page: int, size: int) -> Sequence[T]:
    return items[(page - 1) * size : page * size]


def _links(call: ApiCall, page: int, size: int, count: int) -> dict[str, str]:
    last = max((count + size - 1) // size, 1)
    ends = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    wanted = (
        (["prev"] if page > 1 else []) + (["next", "last"] if page < last else []) + (["first"] if page > 1 else [])
    )
    links = [f'<{_address(call, ends[rel])}>; rel="{rel}"' for rel in wanted]
    return {"Link": ", ".join(links)} if links else {}


def _address(call: ApiCall, page: int) -> str:
    return f"{API}{quote(call.request.path)}?{urlencode({**call.request.query, 'page': page})}"
