"""Routes of the forms that submit an agent and name one: each makes the request that the interface takes.

What is wrong in a form is shown in it.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from quarterturn.choices import SubmissionSet
from quarterturn.display_names.rules import MAX_NAME_CHARACTERS
from quarterturn.errors import ApplicationError
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import html, json_responses, models, validation
from quarterturn.http.responses.problems import Problem
from quarterturn.http.routes.account_pages import Own, fresh_key, service_address
from quarterturn.http.routes.display_names import Changes
from quarterturn.http.routes.submissions import Intake
from quarterturn.pages.display_names import PROBLEMS as NAME_PROBLEMS
from quarterturn.pages.display_names import NameForm
from quarterturn.pages.submission_form import PROBLEMS, SETS, Form

router = APIRouter(tags=["pages"], include_in_schema=False, route_class=html.Page)

_OF_FIELDS = {"model": "no-model", "set": "no-set", "counts": "not-private"}


@router.post("/mine", name="submit_by_form")
async def submit(request: Request, own: Own, intake: Intake, who: Who) -> Response:
    """Submit an agent and show its page, or show the form with what is wrong."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    form = Form.of(fresh_key(), given)
    return await run_in_threadpool(_submitted, form, own, intake, who.account, service_address(request))


@router.post("/mine/display-name", name="name_by_form")
async def name_agent(request: Request, own: Own, changes: Changes, who: Who) -> Response:
    """Choose an agent's display name, or give it up where the field is empty, and show the page again."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    agent, name = (given.get(field, [""])[0].strip() for field in ("agent", "name"))
    return await run_in_threadpool(_named, NameForm(agent, name), own, changes, who.account, service_address(request))


def _named(form: NameForm, own: Own, changes: Changes, account: str, service: str) -> Response:
    try:
        if form.name:
            changes.choose(account, form.agent, form.name)
        else:
            changes.give_up(account, form.agent)
    except ApplicationError as error:
        problem = validation.problem_of(error).code
        if problem not in NAME_PROBLEMS:
            raise
        sent = replace(form, name=form.name[:MAX_NAME_CHARACTERS], problem=problem)
        return html.own(own.overview(account, Form(fresh_key()), service, sent=sent), 422)
    return RedirectResponse("/mine#names", 303, {"cache-control": json_responses.PRIVATE, **html.PAGE})


def _submitted(form: Form, own: Own, intake: Intake, account: str, service: str) -> Response:
    problem, made = _taken(form, intake, account)
    if made is None:
        return html.own(own.overview(account, replace(form, problem=problem), service), 422)
    name = made.headers["location"].rpartition("/")[2]
    return RedirectResponse(f"/submission/{name}", 303, {"cache-control": json_responses.PRIVATE, **html.PAGE})


def _taken(form: Form, intake: Intake, account: str) -> tuple[str, Response | None]:
    """Return what is wrong with a form, or the answer of the interface to it."""
    problem = _missing(form)
    if problem:
        return problem, None
    try:
        return "", intake.answer(account, *_request(form), form.key)
    except Exception as error:
        problem = _problem_of(error)
        if problem not in PROBLEMS:
            raise
        return problem, None


def _missing(form: Form) -> str:
    if not form.agent:
        return "nothing"
    if form.set not in SETS:
        return "no-set"
    return "not-private" if form.counts and form.set != "private" else ""


def _request(form: Form) -> tuple[models.Agent, SubmissionSet]:
    """Make the request of a form, by the models that the interface reads its own with."""
    if form.set == "check":
        return models.Agent(**form.body()), "check"
    wanted = models.NewSubmission(**form.body())
    return wanted, wanted.set


def _problem_of(error: Exception) -> str:
    """Return the mistake that an error stands for; "" where it stands for none of the form's."""
    if isinstance(error, ValidationError):
        return _OF_FIELDS.get(str(error.errors()[0]["loc"][0]), "malformed")
    if not isinstance(error, ApplicationError | Problem):
        return ""
    problem = validation.problem_of(error)
    if (state := problem.members.get("state")) in {"no-endpoints", "no-track"}:
        return str(state)
    return problem.code if problem.code != "invalid" else _OF_FIELDS.get(problem.members.get("field", ""), "malformed")
