"""Table of API errors: RFC 9457 problems, each with a code, a status and a fixed title.

The text of an exception is never sent: it may quote a task. The code says why a request was refused; for an invalid
request, `errors` names the fields that are wrong, never their values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from vault.errors import kind_of

MEDIA = "application/problem+json"
TYPE = "urn:quarterturn:problem:"

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "Malformed request."),
    "unauthenticated": (401, "Token missing or invalid: send Authorization: Bearer qt_…"),
    "forbidden": (403, "The token lacks the scope that this route needs."),
    "cross-site": (403, "This form was not sent from a page of this service."),
    "not-found": (404, "Not found, or you have no access."),
    "method-not-allowed": (405, "Method not allowed on this route."),
    "conflict": (409, "The current state does not allow this: for example, the submission has already ended."),
    "not-now": (409, "No private set is live, or a turn is under way: try again later."),
    "too-large": (413, "The request body is too large."),
    "unsupported-media-type": (415, "The request body must be application/json."),
    "invalid": (422, "A field is missing or wrong; `errors` says which."),
    "not-yours": (422, "Image not allowed: name it by digest, or under your account, such as ACCOUNT/agent:1."),
    "key-reused": (422, "This Idempotency-Key was used with a different request."),
    "quota": (429, "A quota is used up; GET /quota says which, and when it resets."),
    "rate": (429, "Too many requests from this address or with this token; wait the seconds in Retry-After."),
    "mistake": (500, "Internal error. Nothing half-done is kept."),
    "unavailable": (503, "A part of the service is unavailable: try again later."),
}

KINDS: Mapping[str, str] = {
    "no": "mistake",
    "malformed": "malformed",
    "not-found": "not-found",
    "not-allowed": "conflict",
    "quota": "quota",
    "unavailable": "unavailable",
    "locked": "unavailable",
    "refused": "conflict",
}
"""The problem of each kind of error."""

_STATUS: Mapping[int, str] = {
    400: "malformed",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
}


class Problem(Exception):
    """A problem that a route found itself; `headers` go with the answer."""

    def __init__(self, code: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.code, self.headers = code, headers or {}


def code_of(error: BaseException) -> str:
    """Give the problem of an exception; an exception that is not one of our kinds is an internal error."""
    return KINDS.get(str(kind_of(error)), "mistake")


def code_of_status(status: int) -> str:
    """Give the problem that a bare status stands for."""
    return _STATUS.get(status, "malformed" if status < 500 else "mistake")  # noqa: PLR2004 - the server's own statuses


def answer(code: str, headers: Mapping[str, str] | None = None, errors: Sequence[Mapping[str, str]] = ()) -> Response:
    """Write a problem."""
    status, title = PROBLEMS[code]
    body: dict[str, Any] = {"type": TYPE + code, "code": code, "title": title, "status": status}
    if errors:
        body["errors"] = list(errors)
    given = {"cache-control": "no-store", **(headers or {})}
    return Response(json.dumps(body).encode(), status, given, MEDIA)
