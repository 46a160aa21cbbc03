"""OpenAPI 3.1 description of the HTTP interface, as the running application gives it, and a page that shows it.

`python -m quarterturn.http.openapi > docs/reference/openapi.yaml` writes it; a test fails where the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quarterturn.http.identity.auth import OWNERS_SEE_MORE
from quarterturn.http.responses.access import ACCESS
from quarterturn.http.responses.problems import MEDIA, PROBLEMS
from quarterturn.pages.templates import render

HEAD = "# Written by `python -m quarterturn.http.openapi`; a test fails where the application differs.\n"
ABOUT = (
    "Submit agents, read their scores, and check the public log. Public routes need no token; all others need one: "
    "`Authorization: Bearer qt_…`. Errors are problems (RFC 9457) of a fixed list of codes."
)
_METHODS = ("get", "post", "put", "delete")


def describe(app: FastAPI) -> dict[str, Any]:
    """Give the description: what FastAPI knows, with who may do what and how each route says no."""
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
    return document


def page(document: dict[str, Any]) -> str:
    """Write the page: a list of routes, without a script or anything from elsewhere."""
    return render("docs.html.jinja", here="/docs", about=ABOUT, routes=list(_rows(document)), problems=PROBLEMS)


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
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = {
        "description": "A problem.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _as_table(path: str) -> str:
    """Give a path as the table has it: OpenAPI has no word for a parameter that holds slashes."""
    return path.replace("{path}", "{path:path}")


def _problem() -> dict[str, Any]:
    """Give the schema of problems (`quarterturn.http.responses.problems`)."""
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
            "name": text | {"description": "A quota's name, `private_in_all`, `requests`, `streams` or `body`."},
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
