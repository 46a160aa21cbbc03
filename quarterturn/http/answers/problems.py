"""What can go wrong, as one table: RFC 9457 problems with a fixed title and, where it helps, a fixed hint.

No word of an exception is ever sent: it may quote a task. What a request was refused for is said by its code, and for a
malformed one by the places in it that are wrong, never by their values.
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
    "malformed": (400, "The request cannot be understood."),
    "unauthenticated": (401, "This needs a token that is good: Authorization: Bearer qt_…"),
    "forbidden": (403, "The token's scopes do not cover this."),
    "cross-site": (403, "This form was not sent from a page of this service."),
    "not-found": (404, "There is nothing here, or nothing that you may see."),
    "method-not-allowed": (405, "This cannot be done here."),
    "conflict": (409, "It cannot be done in the state that things are in."),
    "not-now": (409, "No set is live, or a turn is under way: try again later."),
    "too-large": (413, "The request's body is too large."),
    "unsupported-media-type": (415, "The body must be application/json."),
    "invalid": (422, "A field is missing or wrong; `errors` says which."),
    "not-yours": (422, "Name an image by its digest, or below a name of your own, such as ACCOUNT/agent:1."),
    "key-reused": (422, "This Idempotency-Key was used for something else."),
    "quota": (429, "A quota is used up; GET /quota says which, and when there is more."),
    "rate": (429, "Too many requests from this address or with this token; wait for as long as Retry-After says."),
    "mistake": (500, "A mistake of ours. Nothing half-done is kept."),
    "unavailable": (503, "Something that this needs is not there at the moment: try again later."),
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
"""From the kind of a room's error to a problem."""

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
    """Give the problem that an exception is; what is none of ours is a mistake of ours."""
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
