"""The FastAPI application: all routes, the middleware around them, and the open home behind them.

`skeleton` has all routes and no home, and describes itself; `create` gives it one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, TypeAlias

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from quarterturn.errors import ApplicationError
from quarterturn.http import openapi_document
from quarterturn.http.dependencies.services import HttpServices
from quarterturn.http.identity import signin
from quarterturn.http.identity.auth import gate
from quarterturn.http.responses import html, json_responses, models, problems, swagger, validation
from quarterturn.http.responses.access import methods_of, require_all
from quarterturn.http.responses.event_streams import Watchers
from quarterturn.http.responses.middleware import Guard
from quarterturn.http.responses.public_log import LogView
from quarterturn.http.responses.public_view import Document, PublicView
from quarterturn.http.responses.rate_limit import Rate
from quarterturn.http.responses.response_cache import ResponseCache
from quarterturn.http.routes import (
    account_pages,
    admin,
    agents,
    display_names,
    explorer,
    feeds,
    health,
    log,
    months,
    pages,
    public,
    releases,
    runners,
    submission_form,
    submissions,
)
from quarterturn.settings import ServiceSettings

HttpApplication: TypeAlias = FastAPI

TITLE, VERSION = "Quarterturn", "1"
SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""No telemetry of the framework's: what it would carry away of a request was never looked at for words of a task."""

DOCS = html.policy(script_src="'self'", connect_src="'self'")
"""The policy of /docs: Swagger UI is a script, which asks this service alone."""

description = APIRouter(tags=["description"])


@description.get(
    "/openapi.json", response_class=Response, responses=models.content(json_responses.JSON), name="openapi"
)
def openapi(request: Request) -> Response:
    """Return this OpenAPI description."""
    return json_responses.published(request, described())


@description.get("/docs", response_class=HTMLResponse, name="docs")
def docs(request: Request) -> Response:
    """Show this description as a page, which loads nothing from elsewhere."""
    return html.public(request, _docs_page(with_swagger=bool(swagger.files())), DOCS)


@description.get("/docs/{file}", name="docs_file", include_in_schema=False)
def docs_file(request: Request, file: str) -> Response:
    """Return a file of Swagger UI, or the script that starts it."""
    return json_responses.published(request, swagger.files().get(file), swagger.MEDIA.get(file, ""))


def skeleton(lifespan: Callable[[FastAPI], Any] | None = None) -> FastAPI:
    """Return an application with all routes; every one of a process shares them."""
    app = _application(lifespan=lifespan, routes=_routes())
    app.add_exception_handler(problems.Problem, _problem)
    app.add_exception_handler(ApplicationError, _refusal)
    app.add_exception_handler(HTTPException, _status)
    app.add_exception_handler(RequestValidationError, _invalid)
    require_all(app)
    return app


def _application(**options: Any) -> FastAPI:
    return FastAPI(
        title=TITLE,
        version=VERSION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(gate)],
        telemetry=SILENT,
        generate_unique_id_function=lambda route: route.name,
        **options,
    )


@cache
def _routes() -> Sequence[BaseRoute]:
    """Return the routes with the gate before each; resolving what they depend on takes a tenth of a second."""
    app = _application()
    for router in (
        public.router,
        releases.router,
        months.router,
        log.router,
        submissions.router,
        runners.router,
        display_names.router,
        admin.router,
        health.router,
        description,
        html.router,
        pages.router,
        agents.router,
        feeds.router,
        explorer.router,
        signin.router,
        account_pages.router,
        submission_form.router,
    ):
        app.include_router(router)
    return tuple(app.routes)


@cache
def described() -> Document:
    """Return the description, which is the same for every home, and made when first read."""
    return Document.of(json_responses.written(openapi_document.describe(skeleton())))


@cache
def _docs_page(*, with_swagger: bool) -> str:
    return openapi_document.page(json.loads(described().body), with_swagger=with_swagger)


def create(
    services: HttpServices,
    view: PublicView,
    log: LogView,
    limits: ServiceSettings,
    *,
    refresh: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """Return the application of one home. While it lives, its executor works.

    Args:
        services: what the routes use.
        view: the public view.
        log: the public log.
        limits: of what may be asked for.
        refresh: writes the whole public view; called once, before anything is answered.
        clock: seconds that only grow, for what may be asked for in a minute from one address and with one token.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(refresh)
        services.executor.start()
        try:
            yield
        finally:
            await run_in_threadpool(services.executor.stop)

    app = skeleton(lifespan)
    state, counts = app.state, Counter[tuple[str, str, int]]()
    state.services, state.counts, state.view, state.log = services, counts, view, log
    state.watchers = Watchers(partial(submissions.looks, services.submissions, services.owner_view))
    rate = partial(Rate, limits.requests_per_minute, clock)
    state.rate, state.limits = rate(), limits
    app.add_middleware(ResponseCache, folders=view.folders)
    app.add_middleware(Guard, rate=rate(), body=limits.body_bytes, counts=counts, page=html.problem)
    return app


def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, problems.Problem)  # noqa: S101 - registered for it
    if not html.is_page(request):
        return problems.answer(error.code, error.headers, **error.members)
    if error.code == "unauthenticated":
        return signin.kept_out(request)
    return html.problem(error.code, error.headers, error.members.get("detail"))


def _refusal(request: Request, error: Exception) -> Response:
    """Answer what an error says for callers; one that says nothing for them goes on to the middleware."""
    assert isinstance(error, ApplicationError)  # noqa: S101 - likewise
    if not error.shown:
        raise error
    return _problem(request, validation.problem_of(error))


def _status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - likewise
    code, headers = problems.code_of_status(error.status_code), error.headers or {}
    if code == "not-found" and html.wants_page(request):
        return html.problem(code, {"vary": "accept", **headers})
    if code != "method-not-allowed":
        return problems.answer(code, headers)
    allowed = ", ".join(methods_of(request.scope["path"]))
    detail = f"This route has the methods {allowed}. Use one of them."
    return problems.answer(code, {"allow": allowed}, detail=detail, given=request.method, expected=allowed)


async def _invalid(request: Request, error: Exception) -> Response:
    """Say what is invalid, and what is expected; an unauthorized caller is told nothing of it."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - likewise
    errors: Sequence[Any] = error.errors()
    if any(detail["type"] == "json_invalid" for detail in errors):  # which is noticed before anybody looked at who asks
        try:
            await gate(request)
        except problems.Problem as problem:
            return problems.answer(problem.code, problem.headers, **problem.members)
        return problems.answer("malformed", **validation.not_json(errors))
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    unread = errors[0]["type"] == "model_attributes_type" and request.headers.get("content-length", "1") != "0"
    if media != json_responses.JSON and (media or unread):  # without a type, a body is not read as JSON
        return problems.answer(
            "unsupported-media-type", field="Content-Type", given=problems.shown(media), expected=json_responses.JSON
        )
    return problems.answer("invalid", **validation.explained(errors))
