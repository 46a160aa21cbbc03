"""Cache of whole public answers, as ASGI middleware; emptied whenever anything public changes.

1. An answer is cached if it says that it is public (`Cache-Control: public`) and has an ETag, and never if the request
   bore a token. A request for a cached answer reaches no route.
2. Whatever is published is renamed into one of a few folders, and each change of those empties the cache, whichever
   process made it. A folder's time is as coarse as the kernel's tick, so nothing is cached while the last change is
   young.
3. The number of cached answers and their bytes are capped: invented queries only empty the cache.
4. Pages are cached in gzip, too, for clients that accept it. Nothing else of the service is compressed: the length of a
   compressed answer tells of what is in it (BREACH, 2013), and cached pages hold only what everybody may read.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_RESPONSES, MAX_BYTES = 1000, 64 << 20
YOUNG = 1.0  # seconds
_ALWAYS = {b"content-length", b"content-type"}
_PAGE, _VARIES = b"text/html", (b"vary", b"accept-encoding")

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A cached answer: its route, its ETag, its headers, and the headers of the answer with status 304."""

    route: Any
    etag: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    bare: tuple[tuple[bytes, bytes], ...]
    body: bytes
    small: CachedResponse | None = None  # the same in gzip

    @property
    def size(self) -> int:
        """The bytes of the body, and of its gzip form."""
        return len(self.body) + (len(self.small.body) if self.small else 0)


class ResponseCache:
    """The application with the cache before it.

    Args:
        app: what answers.
        folders: what is published is renamed into these.
        now: seconds since the epoch, as the folders' times are.
    """

    def __init__(self, app: ASGIApp, folders: Sequence[Path], now: Callable[[], float] = time.time) -> None:
        self._app, self._folders, self._now = app, tuple(map(str, folders)), now
        self._version: Version = ()
        self._kept: dict[tuple[str, bytes], CachedResponse] = {}
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from the cache, or let the application answer and cache its answer."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"])
        if b"authorization" in given:
            await self._app(scope, receive, send)
            return
        version, key = self._look(), (scope["path"], scope["query_string"])
        cached = self._kept.get(key)
        if cached is not None:
            scope["route"] = cached.route
            if cached.small is not None and _takes_gzip(given.get(b"accept-encoding", b"")):
                cached = cached.small
            await _answer(cached, given.get(b"if-none-match", b""), send)
        elif self._old(version):
            await self._app(scope, receive, self._listening(scope, key, version, send))
        else:
            await self._app(scope, receive, send)

    def _look(self) -> Version:
        """Return the version of what is public; what was kept of another one is let go."""
        version = tuple(map(_changed, self._folders))
        if version != self._version:
            self._empty()
            self._version = version
        return version

    def _old(self, version: Version) -> bool:
        return self._now() * 1e9 - max(version) > YOUNG * 1e9

    def _listening(self, scope: Scope, key: tuple[str, bytes], version: Version, send: Send) -> Send:
        """Hand an answer on, and keep it if it may be."""
        start: Message | None = None

        async def heard(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = dict(message, headers=list(message["headers"]))
            elif start is not None:
                if not message.get("more_body", False) and version == self._version:
                    self._keep(scope, key, start, message.get("body", b""))
                start = None  # what comes in pieces is not kept
            await send(message)

        return heard

    def _keep(self, scope: Scope, key: tuple[str, bytes], start: Message, body: bytes) -> None:
        have = dict(start["headers"])
        public = have.get(b"cache-control", b"").startswith(b"public")
        if start["status"] != 200 or not public or b"etag" not in have or b"set-cookie" in have:  # noqa: PLR2004
            return
        response = _both(scope.get("route"), have, body)
        if len(self._kept) >= MAX_RESPONSES or self._bytes + response.size > MAX_BYTES:
            self._empty()
        self._kept[key] = response
        self._bytes += response.size

    def _empty(self) -> None:
        self._kept, self._bytes = {}, 0


def _both(route: Any, headers: Mapping[bytes, bytes], body: bytes) -> CachedResponse:
    """Return an answer as it is kept, and a page in gzip beside it: under a weak tag, for its bytes are others."""
    if not headers.get(b"content-type", b"").startswith(_PAGE):
        return _kept(route, headers, body)
    varies, small = {**headers, _VARIES[0]: _VARIES[1]}, gzip.compress(body, mtime=0)
    gzip_headers = {
        b"content-encoding": b"gzip",
        b"content-length": b"%d" % len(small),
        b"etag": b"W/" + headers[b"etag"],
    }
    return replace(_kept(route, varies, body), small=_kept(route, varies | gzip_headers, small))


def _kept(route: Any, headers: Mapping[bytes, bytes], body: bytes) -> CachedResponse:
    bare = tuple(pair for pair in headers.items() if pair[0] not in _ALWAYS)
    return CachedResponse(route, headers[b"etag"].removeprefix(b"W/"), tuple(headers.items()), bare, body)


def _takes_gzip(accepted: bytes) -> bool:
    """Say whether a client takes gzip, by its `Accept-Encoding`."""
    for encoding in accepted.lower().split(b","):
        name, _, weight = encoding.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


async def _answer(cached: CachedResponse, has: bytes, send: Send) -> None:
    """Send a cached answer, or status 304 to a client that has it (a weak comparison, RFC 9110, 13.1.2)."""
    tags = {tag.strip().removeprefix(b"W/") for tag in has.split(b",")} if has else ()
    known = cached.etag in tags or b"*" in tags
    status, headers, body = (304, cached.bare, b"") if known else (200, cached.headers, cached.body)
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - at each request; a Path takes longer than the look
    except OSError:
        return 0
