"""Access table of the HTTP routes: the scope that each route needs, or None for public routes.

A route that is not in the table cannot be served, and a row without a route fails at the start: `require_all` compares
them. Which role has which scope stands in `quarterturn.accounts.roles`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path

from quarterturn.accounts.roles import Scope

Table = Mapping[tuple[str, str], Scope | None]

PAGES: Table = {
    ("GET", "/"): None,
    ("GET", "/leaderboard/{month}"): None,
    ("GET", "/leaderboard/{month}/{file}"): None,
    ("GET", "/rotation"): None,
    ("GET", "/rotation/{file}"): None,
    ("GET", "/release/{release}"): None,
    ("GET", "/release/{release}/{file}"): None,
    ("GET", "/task/{id}"): None,
    ("GET", "/leaf/{index}"): None,
    ("GET", "/agents/{submitter}/{agent}"): None,
    ("GET", "/agents/{submitter}/{agent}/{file}"): None,
    ("GET", "/explorer"): None,
    ("GET", "/static/explorer.js"): None,
    ("GET", "/static/submission.js"): None,
    ("GET", "/feeds/releases.atom"): None,
    ("GET", "/feeds/checkpoints.atom"): None,
    ("GET", "/static/style.css"): None,
    ("GET", "/sign-in"): None,
    ("POST", "/sign-in"): None,
    ("POST", "/sign-out"): None,
    ("GET", "/mine"): "submit",
    ("POST", "/mine"): "submit",
    ("POST", "/mine/display-name"): "submit",
    ("GET", "/mine/{file}"): "submit",
    ("GET", "/submission/{id}"): "submit",
    ("GET", "/submission/{id}/events"): "submit",
    ("GET", "/submission/{id}/trace"): "submit",
    ("GET", "/submission/{id}/{file}"): "submit",
    ("POST", "/submission/{id}/cancel"): "submit",
    ("GET", "/findings/details"): "findings:read",
    ("GET", "/findings/details/{file}"): "findings:read",
    ("GET", "/verify.html"): None,
    ("GET", "/docs/{file}"): None,
}
"""Pages for people: not in the OpenAPI description, which is for programs."""

ACCESS: Table = {
    # the public view
    ("GET", "/leaderboard"): None,
    ("GET", "/tasks"): None,
    ("GET", "/tasks/{id}"): None,
    ("GET", "/rotations"): None,
    ("GET", "/findings"): None,
    ("GET", "/releases"): None,
    ("GET", "/releases/{release}.tar"): None,
    ("GET", "/releases/{release}.tar.sha256"): None,
    ("GET", "/releases/{release}"): None,
    ("GET", "/releases/{release}/files/{path:path}"): None,
    ("GET", "/attestations/{release}"): None,
    ("GET", "/months"): None,
    ("GET", "/months/{month}/{file}"): None,
    ("GET", "/keys/{file}"): None,
    ("GET", "/log/checkpoint"): None,
    ("GET", "/log/checkpoints/{size}"): None,
    ("GET", "/log/tile/{path:path}"): None,
    ("GET", "/log/proof/inclusion"): None,
    ("GET", "/log/proof/consistency"): None,
    # a run that its owner has published; its owner sees it before
    ("GET", "/runs/{id}"): None,
    # submitters
    ("POST", "/submissions"): "submit",
    ("GET", "/submissions"): "submit",
    ("GET", "/submissions/{id}"): "submit",
    ("GET", "/submissions/{id}/events"): "submit",
    ("POST", "/submissions/{id}/cancel"): "submit",
    ("PUT", "/runs/{id}/publication"): "submit",
    ("DELETE", "/runs/{id}/publication"): "submit",
    ("POST", "/checks"): "submit",
    ("GET", "/quota"): "submit",
    ("GET", "/display-names"): "submit",
    ("PUT", "/display-names/{agent}"): "submit",
    ("DELETE", "/display-names/{agent}"): "submit",
    # runners
    ("POST", "/runner/v1/registration"): "play",
    ("POST", "/runner/v1/work"): "play",
    ("POST", "/runner/v1/servings/{handle}/start"): "play",
    ("POST", "/runner/v1/alive"): "play",
    ("POST", "/runner/v1/servings/{handle}/failure"): "play",
    ("PUT", "/runner/v1/servings/{handle}/result"): "play",
    ("PUT", "/runner/v1/servings/{handle}/model"): None,  # but for the holder of the serving's own token
    ("GET", "/runner/v1/servings/{handle}/model"): None,
    # operators
    ("GET", "/admin/findings"): "findings:read",
    ("POST", "/admin/findings/{number}/review"): "findings:review",
    ("GET", "/admin/queue"): "queue:read",
    ("GET", "/admin/turn"): "admin",
    ("GET", "/admin/tokens"): "admin",
    ("POST", "/admin/tokens"): "admin",
    ("DELETE", "/admin/tokens/{number}"): "admin",
    ("DELETE", "/admin/display-names/{submitter}/{agent}"): "admin",
    ("GET", "/metrics"): "metrics:read",
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/docs"): None,
    **PAGES,
}


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    """List the routes of an application as the table names them."""
    contexts = iter_route_contexts(app.routes)
    return {(method, route.path or "") for route in contexts for method in route.methods or ()}


def methods_of(path: str) -> list[str]:
    """Return the methods of all routes that a path matches, in alphabetical order; HEAD goes with GET."""
    methods = {method for method, pattern in _patterns() if pattern.match(path)}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(method, compile_path(path)[0]) for method, path in ACCESS]


def require_all(app: FastAPI) -> None:
    """Refuse an application whose routes are not those of the table.

    Raises:
        RuntimeError: the message names them.
    """
    if odd := routes_of(app) ^ set(ACCESS):
        raise RuntimeError(f"routes and table differ: {sorted(odd)}")
