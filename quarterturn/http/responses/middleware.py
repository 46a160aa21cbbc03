"""ASGI middleware around every route: rate and size limits, security headers, error handling, request counts.

1. an address that exceeds its rate gets status 429, and every answer says how many requests are left
2. a body is read to its end before a route sees it; one that is too long is refused, and one that breaks off is dropped
   a route of `STREAMED` reads its body by itself, once it knows who sends it
3. every answer has the headers of `SECURITY`; no page runs a script or loads anything from elsewhere
4. an unexpected exception becomes a problem; its text goes nowhere, and its place into the log
5. requests are counted by route, method and status, and by nothing that names anybody
6. HEAD is GET without a body

It is a plain ASGI application, so an answer that streams is not held back.
"""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Unpack

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quarterturn.errors import where
from quarterturn.http.responses import problems, rate_limit
from quarterturn.http.responses.rate_limit import WINDOW, Rate

SECURITY: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=63072000",  # browsers take it over https only
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_SECURITY = tuple((name.encode(), value.encode()) for name, value in SECURITY.items())

BARE = "quarterturn.bare"
"""What a scope has whose answer is sent without its body; a route need not read a file for that."""

STREAMED = "/runner/v1/servings/"
"""Where runners hand in what a serving left: too long for the memory, and read by its route within a cap."""

log = logging.getLogger("quarterturn.service")


class Guard:
    """The application with these checks around it.

    Args:
        app: what answers.
        rate: counts the requests from each address.
        body: how long a request's body may be, in bytes.
        counts: where requests are counted.
        page: draws a problem for a browser, from its code, headers and next step.
    """

    def __init__(
        self, app: ASGIApp, rate: Rate, body: int, counts: Counter[tuple[str, str, int]], page: Callable[..., Response]
    ) -> None:
        self._app, self._rate, self._body, self._counts, self._page = app, rate, body, counts, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left, wait = self._rate.take(_network((scope.get("client") or ("",))[0]))
        headers = (
            *_SECURITY,
            (b"ratelimit-policy", b'"requests";q=%d;w=%d' % (self._rate.limit, WINDOW)),
            (b"ratelimit", b'"requests";r=%d;t=%d' % (max(left, 0), wait)),
        )
        begun, bare = False, scope["method"] == "HEAD"
        if bare:
            scope = {**scope, "method": "GET", BARE: True}

        async def dressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                have = {name for name, _ in message["headers"]}
                message["headers"] += [pair for pair in headers if pair[0] not in have]
                self._count(scope, message["status"])
                await send(message)
                if bare:
                    await send({"type": "http.response.body", "body": b""})
            elif not bare:
                await send(message)

        if left < 0:
            refusal = self._refusal(scope, "rate", {"retry-after": str(wait)}, **rate_limit.members(self._rate, wait))
            await refusal(scope, receive, dressed)
            return
        try:
            streamed = scope["path"].startswith(STREAMED)
            read = receive if streamed else await _read(scope, receive, self._body)
        except ClientDisconnect:  # half a form may be a whole one that says something else
            return
        if read is None:
            detail = f"This service takes at most {self._body} bytes in a request body. Send a smaller one."
            limit = problems.Limit(name="body", value=self._body, unit="bytes")
            refusal = self._refusal(scope, "too-large", {"connection": "close"}, detail=detail, limit=limit)
            await refusal(scope, receive, dressed)
            return
        try:
            await self._app(scope, read, dressed)
        except Exception as error:
            code = problems.code_of(error)
            if code == "mistake":
                _write_down(error)
            if not begun:
                await self._refusal(scope, code, {})(scope, receive, dressed)

    def _refusal(
        self, scope: Scope, code: str, headers: Mapping[str, str], **members: Unpack[problems.Members]
    ) -> Response:
        """Return a problem: as a page to a browser, which accepts HTML, and as a document to programs."""
        if b"text/html" in dict(scope["headers"]).get(b"accept", b"").lower():
            return self._page(code, {"vary": "accept", **headers}, members.get("detail"))
        return problems.answer(code, headers, **members)

    def _count(self, scope: Scope, status: int) -> None:
        route = scope.get("route")
        self._counts[getattr(route, "path", ""), scope["method"] if route else "", status] += 1


async def _read(scope: Scope, receive: Receive, most: int) -> Receive | None:
    """Read a request's body, and return what hands it on; None where it is too long.

    Raises:
        ClientDisconnect: the connection ended, or was closed on a malformed chunk, before the body did.
    """
    given = dict(scope["headers"])
    if b"content-length" not in given and b"transfer-encoding" not in given:
        return receive  # there is none
    length = given.get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > most:
            return None
    waiting = True

    async def again() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


@lru_cache(maxsize=4096)
def _network(host: str) -> str:
    """Return the address that asks; of IPv6 the network, since everybody has as many addresses as they like."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))  # noqa: PLR2004


def _write_down(error: BaseException) -> None:
    """Log an exception's place without its message, which might quote a task."""
    log.error("%s", where(error))
