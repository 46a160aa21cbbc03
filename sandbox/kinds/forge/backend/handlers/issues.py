"""Issues, with their labels, milestones and comments.

A pull request is an issue too, and is listed and changed as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.issue_shapes import comment, issue
from sandbox.kinds.forge.backend.handlers.paging import listed
from sandbox.kinds.forge.backend.protocol.errors import ApiError, invalid
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo

REASONS = ("completed", "not_planned", "duplicate", "reopened")
_SORTS = {"created": "created_at", "updated": "updated_at"}


def list_issues(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/issues."""
    repo = call.repo
    wanted = [record for record in repo.issues if _asked_for(call, record)]
    sort = call.one_of("sort", ("created", "updated", "comments"))
    newest_first = call.one_of("direction", ("desc", "asc")) == "desc"
    ordered = sorted(wanted, key=lambda record: (_rank(record, sort), record["number"]), reverse=newest_first)
    return listed(call, ordered, lambda record: issue(repo, record))


def _rank(record: Record, sort: str) -> Any:
    return len(record["comments"]) if sort == "comments" else record[_SORTS[sort]]


def _asked_for(call: ApiCall, record: Record) -> bool:
    state = call.one_of("state", ("open", "closed", "all"))
    if state not in {"all", record["state"]} or record["updated_at"] < call.query("since"):
        return False
    has = {name.lower() for name in record["labels"]}
    wanted = {name.strip().lower() for name in call.query("labels").split(",")} - {""}
    names = [name.lower() for name in record["assignees"]]
    tests = (
        wanted <= has,
        _matches(call.query("assignee").lower(), names),
        call.query("creator").lower() in {"", record["user"].lower()},
        _matches(call.query("milestone"), [str(record["milestone"])] if record["milestone"] else []),
        not call.query("mentioned") or f"@{call.query('mentioned')}".lower() in (record["body"] or "").lower(),
    )
    return all(tests)


def _matches(asked: str, values: Sequence[str]) -> bool:
    return {"": True, "none": not values, "*": bool(values)}.get(asked, asked in values)


def get_issue(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/issues/{number}."""
    return HttpResponse(200, issue(call.repo, call.repo.issue(call.parts["number"])))


def create_issue(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/issues."""
    repo = call.repo_to_write(push=False)
    title = call.take("title", str, "")
    if not title.strip():
        raise invalid("Issue", "title", "missing_field")
    known: Record = {"title": title.strip(), "body": call.take("body", str, None)}
    if repo.may_push(call.login):  # from others these fields are dropped without a word
        known["assignees"] = _assignees(call, repo)
        known["milestone"] = _milestone(call, repo)
        known["labels"] = records.labelled(call.state.data, repo.record, call.texts("labels"))
    made = issue(repo, repo.add_issue(call.login, known))
    return HttpResponse(201, made, {"Location": made["url"]})


def _assignees(call: ApiCall, repo: Repo) -> list[str]:
    logins: list[str] = []
    for name in call.texts("assignees"):
        login = call.state.login(name)
        if login is None or not (repo.may_push(login) or login == call.login):
            raise invalid("Issue", "assignees", value=name)
        logins += [login] if login not in logins else []
    return logins


def _milestone(call: ApiCall, repo: Repo) -> int | None:
    number = call.take("milestone", int, None)
    if number is not None and str(number) not in repo.record["milestones"]:
        raise invalid("Issue", "milestone", value=number)
    return int(number) if number is not None else None


def update_issue(call: ApiCall) -> HttpResponse:
    """PATCH /repos/{owner}/{repo}/issues/{number}."""
    repo = call.repo_to_write(push=False)
    record = repo.issue(call.parts["number"])
    if not repo.may_push(call.login) and record["user"] != call.login:
        raise ApiError(403, "Must have admin rights to Repository.")
    _change_text(call, record)
    if repo.may_push(call.login):
        _change_place(call, repo, record)
    _change_state(call, record)
    record["updated_at"] = call.state.now
    return HttpResponse(200, issue(repo, record))


def _change_text(call: ApiCall, record: Record) -> None:
    title = call.take("title", str, record["title"]).strip()
    if not title:
        raise invalid("Issue", "title", "missing_field")
    record["title"] = title
    if "body" in call.body:
        record["body"] = call.take("body", str, None)


def _change_place(call: ApiCall, repo: Repo, record: Record) -> None:
    if "labels" in call.body:
        record["labels"] = records.labelled(call.state.data, repo.record, call.texts("labels"))
    if "assignees" in call.body:
        record["assignees"] = _assignees(call, repo)
    if "milestone" in call.body:
        record["milestone"] = _milestone(call, repo)


def _change_state(call: ApiCall, record: Record) -> None:
    wanted = call.take("state", str, record["state"])
    reason = call.take("state_reason", str, None)
    if wanted not in {"open", "closed"}:
        raise invalid("Issue", "state", value=wanted)
    if reason is not None and reason not in REASONS:
        raise invalid("Issue", "state_reason", value=reason)
    if wanted == "open" and record["pull"] and record["pull"]["merged_at"]:
        raise invalid("PullRequest", "state", message="state cannot be changed. The pull request was merged.")
    if wanted == "closed" and (record["state"] == "open" or reason):
        records.close(record, call.login, call.state.now, reason or "completed")
    elif wanted == "open" and record["state"] == "closed":
        record |= {"state": "open", "closed_at": None, "closed_by": None}
        record["state_reason"] = None if record["pull"] else "reopened"


def create_comment(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/issues/{number}/comments."""
    repo = call.repo_to_write(push=False)
    record = repo.issue(call.parts["number"])
    body = call.take("body", str)
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    written = records.new_comment(call.state.data, call.login, call.state.now, body)
    record["comments"].append(written)
    record["updated_at"] = call.state.now
    made = comment(repo, record, written)
    return HttpResponse(201, made, {"Location": made["url"]})


def list_comments(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/issues/{number}/comments."""
    repo = call.repo
    record = repo.issue(call.parts["number"])
    return listed(call, record["comments"], lambda written: comment(repo, record, written))
