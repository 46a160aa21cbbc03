"""Table of API errors: RFC 9457 problem documents, each with a code, a status, a fixed title and what explains it.

1. `title` is the same for every problem of a code; `detail` says what happened to this request, and the next step.
2. The extension members `field`, `given`, `expected`, `limit` and `state` say the same to programs. `errors` lists
   every invalid part of a request; the members are those of the first one.
3. The text of an exception is never sent: it may quote a task. `given` is a short value of a harmless field.
4. What does not exist and what belongs to somebody else have the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, Unpack

from fastapi import Response

from vault.errors import kind_of

MEDIA = "application/problem+json"
TYPE = "urn:quarterturn:problem:"

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The request is not well-formed."),
    "unauthenticated": (401, "Token missing or invalid: send `Authorization: Bearer qt_…`."),
    "forbidden": (403, "The token lacks the scope that this route needs."),
    "cross-site": (403, "This form was not sent from a page of this service."),
    "not-found": (404, "Not found, or you have no access."),
    "method-not-allowed": (405, "This route has no such method."),
    "conflict": (409, "The current state does not allow this."),
    "not-now": (409, "No private set accepts runs at the moment."),
    "too-large": (413, "The request body is too large."),
    "unsupported-media-type": (415, "The request body must be application/json."),
    "range": (416, "The file has no such part."),
    "invalid": (422, "A part of the request is missing or wrong."),
    "not-yours": (422, "You may not submit this image."),
    "key-reused": (422, "This Idempotency-Key was used with a different request."),
    "quota": (429, "A quota is used up."),
    "rate": (429, "Too many requests."),
    "mistake": (500, "Internal error; nothing half-done is kept."),
    "unavailable": (503, "A part of the service is unavailable."),
}

DETAILS: Mapping[str, str] = {
    "malformed": "The server cannot parse the request. Compare it with GET /openapi.json.",
    "unauthenticated": "Ask the service's operator for a token, and send it with each request.",
    "forbidden": "Use a token whose role has the scope, or ask the service's operator for one.",
    "cross-site": "Open the page on this service and send its form from there.",
    "not-found": "Check the address and the id; GET /docs lists the routes. What others own has this answer, too.",
    "method-not-allowed": "Use one of the methods in the header `Allow`.",
    "conflict": "Look at the present state first; then send a request that this state allows.",
    "not-now": "Try again later, or submit to the dev set.",
    "too-large": "Send a smaller body.",
    "unsupported-media-type": "Send JSON, with the header `Content-Type: application/json`.",
    "range": "The header `Content-Range` gives the length of the file. Ask for a part of it, or leave `Range` out.",
    "invalid": "Correct it as GET /openapi.json describes it, and send the request again.",
    "not-yours": "Name the image by its digest (sha256:…), or under your account, such as ACCOUNT/agent:1.",
    "key-reused": "Send a new key with this request, or repeat the request that the key was used with.",
    "quota": "GET /quota says which quota is used up, and when it resets.",
    "rate": "Wait the seconds in the header `Retry-After`, then try again.",
    "mistake": "Try again; if it stays, tell the service's operator when it happened.",
    "unavailable": "Try again in a minute.",
}
"""What a problem of a code says where nothing better is known about the request."""

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
    416: "range",
}

MAX_SHOWN_CHARACTERS = 60  # of a value
_SECRET = re.compile(r"qt_|@(?!sha256:)|://|t-[a-z2-7]{16}")  # a token, an address with a password, a task's id


class Limit(TypedDict):
    """A limit that a request exceeded.

    Attributes:
        name: what is limited: a quota's name, `requests`, `body`.
        value: how much is allowed.
        unit: what is counted, such as `bytes`.
        resets_at: when it resets, in ISO 8601; absent where it frees up as submissions end.
        retry_after: seconds until it resets, as in the header `Retry-After`.
    """

    name: str
    value: int
    unit: str
    resets_at: NotRequired[str]
    retry_after: NotRequired[int]


class Invalid(TypedDict):
    """An invalid part of a request.

    Attributes:
        pointer: where it is, such as `/body/image`.
        reason: the rule that it breaks, as pydantic names it.
        expected: what it must be.
        given: its value, if that is harmless.
    """

    pointer: str
    reason: str
    expected: str
    given: NotRequired[Any]


class Members(TypedDict, total=False):
    """What explains one problem, beside its code.

    Attributes:
        detail: what happened and the next step.
        field: the name of the wrong field.
        given: its value; never a secret, and shortened.
        expected: what would be accepted.
        limit: the limit that was exceeded.
        state: the state that does not allow the request.
        errors: every invalid part of the request.
    """

    detail: str
    field: str
    given: Any
    expected: str
    limit: Limit
    state: str
    errors: Sequence[Invalid]


class Problem(Exception):
    """A problem that a route found itself; `headers` go with the answer."""

    def __init__(self, code: str, headers: Mapping[str, str] | None = None, **members: Unpack[Members]) -> None:
        super().__init__(code)
        self.code, self.headers, self.members = code, headers or {}, members


def code_of(error: BaseException) -> str:
    """Return the code of an exception: its own, else its kind's; what has neither is an internal error."""
    return getattr(error, "problem", "") or KINDS.get(str(kind_of(error)), "mistake")


def code_of_status(status: int) -> str:
    """Return the problem that a bare status stands for."""
    return _STATUS.get(status, "malformed" if status < 500 else "mistake")  # noqa: PLR2004 - the server's own statuses


def answer(code: str, headers: Mapping[str, str] | None = None, **members: Unpack[Members]) -> Response:
    """Write a problem."""
    given = {"cache-control": "no-store", **(headers or {})}
    return Response(json.dumps(document(code, **members)).encode(), PROBLEMS[code][0], given, MEDIA)


def document(code: str, **members: Unpack[Members]) -> dict[str, Any]:
    """Return the document of a problem."""
    status, title = PROBLEMS[code]
    fixed = {"type": TYPE + code, "code": code, "title": title, "status": status, "detail": DETAILS[code]}
    return fixed | members


def shown(value: Any) -> Any:
    """Return a value as a problem may repeat it: short, and None if it may hold a secret or names a task."""
    if isinstance(value, bool | int):
        return value
    if not isinstance(value, str) or _SECRET.search(value):
        return None
    return value if len(value) <= MAX_SHOWN_CHARACTERS else f"{value[: MAX_SHOWN_CHARACTERS - 1]}…"
