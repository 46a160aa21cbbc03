"""OpenAPI 3.1 description of the HTTP interface, as the running application gives it, and a page that shows it.

`python -m quarterturn.http.openapi > docs/reference/openapi.yaml` writes it; a test fails where the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quarterturn.http.identity.auth import OWNERS_SEE_MORE
from quarterturn.http.responses import problems
from quarterturn.http.responses.access import ACCESS
from quarterturn.http.responses.problems import DETAILS, MEDIA, PROBLEMS, Invalid, Limit, Members
from quarterturn.pages.templates import render

HEAD = "# Written by `python -m quarterturn.http.openapi`; a test fails where the application differs.\n"
ABOUT = (
    "Submit agents, read their scores, and check the public log. Public routes need no token; all others need one: "
    "`Authorization: Bearer qt_…`. Errors are problems (RFC 9457) of a fixed list of codes."
)
MORE: Mapping[tuple[str, str], Sequence[str]] = {
    ("POST", "/submissions"): ("conflict", "not-now", "not-yours", "key-reused", "quota"),
    ("POST", "/checks"): ("not-yours", "key-reused", "quota"),
    ("POST", "/submissions/{id}/cancel"): ("conflict",),
    ("PUT", "/runs/{id}/publication"): ("conflict",),
    ("DELETE", "/runs/{id}/publication"): ("conflict",),
    ("PUT", "/display-names/{agent}"): ("conflict", "quota"),
    ("POST", "/runner/v1/registration"): ("conflict",),
    ("POST", "/runner/v1/work"): ("conflict",),
    ("POST", "/runner/v1/servings/{handle}/start"): ("conflict",),
    ("POST", "/runner/v1/alive"): ("conflict",),
    ("PUT", "/runner/v1/servings/{handle}/result"): ("conflict",),
    ("PUT", "/runner/v1/servings/{handle}/model"): ("conflict",),
    ("GET", "/runner/v1/servings/{handle}/model"): ("conflict",),
    ("GET", "/leaderboard"): ("not-found",),
    ("GET", "/rotations"): ("not-found",),
    ("GET", "/findings"): ("not-found",),
    ("GET", "/log/checkpoint"): ("not-found",),
    ("GET", "/log/proof/inclusion"): ("not-found",),
    ("GET", "/log/proof/consistency"): ("not-found",),
    ("GET", "/releases/{release}.tar"): ("range",),
    ("GET", "/readyz"): ("unavailable",),
}
"""Problems of a route that follow from nothing else in its description."""
OTHER, OTHERS = "other", ("method-not-allowed", "too-large", "mistake", "unavailable")
EXAMPLES: Mapping[str, Members] = {
    "invalid": {
        "detail": "set: expected 'dev' or 'private'. Correct it and send the request again.",
        "field": "set",
        "given": "live",
        "expected": "'dev' or 'private'",
        "errors": [
            Invalid(pointer="/body/set", reason="literal_error", expected="'dev' or 'private'", given="live"),
        ],
    },
    "conflict": {
        "detail": "This submission has already ended (done), so it cannot be cancelled. Nothing was changed.",
        "state": "done",
        "expected": "queued or running",
    },
    "not-now": {
        "detail": "The monthly turn is under way. Submit again once it is done; see /rotations.",
        "state": "turn-under-way",
    },
    "too-large": {
        "detail": "This service takes at most 65536 bytes in a request body. Send a smaller one.",
        "limit": Limit(name="body", value=65536, unit="bytes"),
    },
    "quota": {
        "detail": "All 5 submissions of the quota 'private' are used. It resets at 2027-01-01T00:00:00+00:00.",
        "limit": Limit(name="private", value=5, unit="submissions", resets_at="2027-01-01T00:00:00+00:00"),
    },
    "rate": {"limit": Limit(name="requests", value=600, unit="requests a minute", retry_after=42)},
    "range": {"field": "Range", "expected": "0-163839"},
    "forbidden": {"expected": "findings:read", "given": "submit"},
    "not-yours": {"field": "image", "given": "bob/agent:1", "expected": "a name that begins with ada/"},
    "key-reused": {"field": "Idempotency-Key"},
    "method-not-allowed": {"given": "PATCH", "expected": "GET, HEAD"},
}
_METHODS = ("get", "post", "put", "delete")


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description: what FastAPI knows, with who may do what and how each route says no."""
    document = get_openapi(title=app.title, version=app.version, description=ABOUT, routes=app.routes)
    components = document["components"]
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "qt_…"}}
    components["schemas"].pop("HTTPValidationError", None)
    components["schemas"].pop("ValidationError", None)
    components["schemas"]["Problem"] = _problem()
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                _complete(item[method], method.upper(), _as_table(path))
    components["responses"] = _responses(document)
    return document


def page(document: dict[str, Any], *, with_swagger: bool) -> str:
    """Write the page: Swagger UI where it is installed, else a list of the routes."""
    rows, errors = list(_rows(document)), [(code, *PROBLEMS[code], DETAILS[code]) for code in PROBLEMS]
    template = "docs-swagger.html.jinja" if with_swagger else "docs.html.jinja"
    return render(template, here="/docs", about=ABOUT, routes=rows, problems=errors)


def _rows(document: dict[str, Any]) -> Iterator[dict[str, str]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                scope = item[method].get("x-scope", "everybody")
                summary = item[method]["description"].splitlines()[0]
                yield {"method": method.upper(), "path": path, "scope": scope, "what": summary}


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    scope = ACCESS[method, path]
    if scope is not None:
        operation["security"], operation["x-scope"] = [{"token": []}], scope
    elif (method, path) in OWNERS_SEE_MORE:
        operation["security"] = [{}, {"token": []}]
    operation["summary"] = operation["description"].splitlines()[0].replace("`", "").rstrip(".")
    operation["responses"].pop("422", None)
    operation["responses"] |= {
        status: {"$ref": f"#/components/responses/{'-or-'.join(codes)}"}
        for status, codes in sorted(_statuses(_errors(operation, method, path)).items())
    }
    operation["responses"]["default"] = {"$ref": f"#/components/responses/{OTHER}"}


def _errors(operation: dict[str, Any], method: str, path: str) -> Iterator[str]:
    """Name the problems that a route may answer with; those of the server itself are the default."""
    parameters = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", ())}
    if ACCESS[method, path] is not None:
        yield from ("unauthenticated", "forbidden")
    if "requestBody" in operation:
        yield from ("malformed", "too-large", "unsupported-media-type")
    if "path" in parameters.values():
        yield "not-found"
    yield "invalid"
    yield from MORE.get((method, path), ())
    yield "rate"


def _statuses(codes: Iterator[str]) -> dict[str, list[str]]:
    by_status: dict[str, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(str(PROBLEMS[code][0]), []).append(code)
    return by_status


def _responses(document: dict[str, Any]) -> dict[str, Any]:
    """Return the responses that operations refer to, each with an example for every code."""
    operations = [item[method] for item in document["paths"].values() for method in _METHODS if method in item]
    answers = [answer for operation in operations for answer in operation["responses"].values() if "$ref" in answer]
    names = sorted({answer["$ref"].rpartition("/")[2] for answer in answers})
    return {name: _response(OTHERS if name == OTHER else name.split("-or-")) for name in names}


def _response(codes: Sequence[str]) -> dict[str, Any]:
    examples = {code: {"value": problems.document(code, **EXAMPLES.get(code, {}))} for code in codes}
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}
    return {"description": " ".join(PROBLEMS[code][1] for code in codes), "content": {MEDIA: content}}


def _as_table(path: str) -> str:
    """Return a path as the table has it: OpenAPI has no word for a parameter that holds slashes."""
    return path.replace("{path}", "{path:path}")


def _problem() -> dict[str, Any]:
    """Return the schema of problems (`quarterturn.http.responses.problems`)."""
    text, value = {"type": "string"}, {"type": ["string", "integer", "boolean"]}
    wrong = {
        "type": "object",
        "required": ["pointer", "reason", "expected"],
        "properties": {
            "pointer": text | {"description": "Where it is, such as `/body/image`."},
            "reason": text | {"description": "The rule that it breaks."},
            "expected": text,
            "given": value,
        },
    }
    limit = {
        "type": "object",
        "description": "The limit that was exceeded.",
        "required": ["name", "value", "unit"],
        "properties": {
            "name": text
            | {"description": "A quota's name, `private_in_all`, `display_names`, `requests`, `streams` or `body`."},
            "value": {"type": "integer"},
            "unit": text | {"description": "What is counted, such as `bytes`."},
            "resets_at": text | {"format": "date-time", "description": "Absent where it frees up as submissions end."},
            "retry_after": {"type": "integer", "description": "Seconds, as in the header `Retry-After`."},
        },
    }
    return {
        "type": "object",
        "description": "A problem document (RFC 9457). Members that do not apply are absent.",
        "required": ["type", "code", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "code": {"type": "string", "enum": sorted(PROBLEMS)},
            "title": text | {"description": "The same for every problem of a code."},
            "status": {"type": "integer"},
            "detail": text | {"description": "What happened, why, and the next step."},
            "field": text | {"description": "The field, parameter or header that is wrong."},
            "given": value | {"description": "Its value, shortened; absent if it may be a secret."},
            "expected": text | {"description": "What would be accepted; of a pattern also an example."},
            "limit": limit,
            "state": text | {"description": "The state that does not allow the request."},
            "errors": {"type": "array", "items": wrong, "description": "Every invalid part of the request."},
        },
    }


def as_yaml(document: dict[str, Any]) -> str:
    """Write a description as YAML."""
    return HEAD + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
