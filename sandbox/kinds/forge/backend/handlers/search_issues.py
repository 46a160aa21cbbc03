"""Search over issues and pull requests. The newest come first where no sort is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sandbox.kinds.forge.backend.handlers import issue_shapes, query
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.paging import found
from sandbox.kinds.forge.backend.handlers.query import within
from sandbox.kinds.forge.backend.handlers.search import PLACES, asked_for, elsewhere, in_order, places
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo

QUALIFIERS = (
    *PLACES,
    *("is", "type", "state", "in", "label", "no", "author", "assignee", "commenter", "mentions", "involves"),
    *("milestone", "head", "base", "draft", "comments", "created", "updated", "closed", "merged", "review"),
    *("reviewed-by", "reason", "archived", "sort"),
)
PERSONAL = ("author", "assignee", "commenter", "reviewed-by", "mentions", "involves")
TEXTS = {"title", "body", "comments"}


def issues_and_pulls(call: ApiCall) -> HttpResponse:
    """GET /search/issues."""
    asked = asked_for(call, QUALIFIERS)
    fields = {part for value in asked.values("in") for part in value.split(",")} or TEXTS
    hits = [
        (repo, record)
        for repo in places(call, asked)
        if not elsewhere(asked, repo)
        for record in repo.issues
        if asked.holds(partial(_is_as_asked, repo, record), (*PLACES, "in", "sort"))
        and asked.matches(_texts(record, fields))
    ]
    ranks: dict[str, Callable[[tuple[Repo, Record]], tuple[str, int]]] = {
        "created": lambda hit: (hit[1]["created_at"], hit[1]["id"]),
        "updated": lambda hit: (hit[1]["updated_at"], hit[1]["id"]),
        "comments": lambda hit: ("", len(hit[1]["comments"])),
    }
    newest = sorted(hits, key=ranks["created"], reverse=True)
    ordered = in_order(call, asked, newest, ranks)
    return found(call, ordered, lambda hit: {**issue_shapes.issue(*hit), "score": 1.0}, search_type="lexical")


def _texts(record: Record, fields: set[str]) -> Iterator[str]:
    yield record["title"] if "title" in fields else ""
    yield (record["body"] or "") if "body" in fields else ""
    yield from (comment["body"] for comment in record["comments"] if "comments" in fields)


def _is_as_asked(repo: Repo, record: Record, name: str, value: str) -> bool:
    """Say whether an issue has what one qualifier asks for."""
    if name in {"is", "type", "state"}:
        return _kinds(repo, record).get(value.lower(), False)
    if name in PERSONAL:
        viewer = str(repo.state.data["viewer"])
        return _is_of(record, name, viewer.lower() if value == "@me" else value.lower())
    tests: dict[str, Callable[[], bool]] = {
        "label": lambda: _has_label(record, value),
        "no": lambda: _has_none(record, value.lower()),
        "milestone": lambda: _milestone(repo, record).lower() == value.lower(),
        "head": lambda: _branch(record, "head") == value,
        "base": lambda: _branch(record, "base") == value,
        "draft": lambda: _kinds(repo, record)["draft"] == (value == "true"),
        "comments": lambda: within(str(len(record["comments"])), value),
        "review": lambda: _is_reviewed(record, value.lower()),
        "reason": lambda: (record["state_reason"] or "") == value.replace(" ", "_"),
        "archived": lambda: repo.record["archived"] == (value == "true"),
    }
    return tests[name]() if name in tests else _is_dated(record, name, value.upper())


def _kinds(repo: Repo, record: Record) -> dict[str, bool]:
    pull = record["pull"]
    return {
        "issue": not pull,
        "pr": bool(pull),
        "pull-request": bool(pull),
        "open": record["state"] == "open",
        "closed": record["state"] == "closed",
        "merged": bool(pull and pull["merged_at"]),
        "unmerged": bool(pull and not pull["merged_at"]),
        "draft": bool(pull and pull["draft"]),
        "public": not repo.record["private"],
        "private": repo.record["private"],
    }


def _is_dated(record: Record, name: str, value: str) -> bool:
    dates = {name: record[f"{name}_at"] for name in ("created", "updated", "closed")}
    date = (dates | {"merged": record["pull"]["merged_at"] if record["pull"] else None})[name]
    return date is not None and within(date, value)


def _has_label(record: Record, value: str) -> bool:
    wanted = {part.strip('"').lower() for part in value.split(",")}  # one of them is enough
    return bool(wanted & {name.lower() for name in record["labels"]})


def _has_none(record: Record, value: str) -> bool:
    field = {"label": "labels", "assignee": "assignees", "milestone": "milestone"}.get(value)
    return field is not None and not record[field]


def _milestone(repo: Repo, record: Record) -> str:
    number = record["milestone"]
    return str(repo.record["milestones"][str(number)]["title"]) if number else ""


def _branch(record: Record, end: str) -> str | None:
    return record["pull"][end]["branch"] if record["pull"] else None


def _is_reviewed(record: Record, value: str) -> bool:
    if not record["pull"]:
        return False
    states = {review["state"] for review in record["pull"]["reviews"]}
    facts = {"none": not states, "approved": "APPROVED" in states, "changes_requested": "CHANGES_REQUESTED" in states}
    return facts.get(value, False)


def _is_of(record: Record, role: str, login: str) -> bool:
    """Say whether an account has a part in an issue."""
    reviews = record["pull"]["reviews"] if record["pull"] else []
    people = {
        "author": [record["user"]],
        "assignee": record["assignees"],
        "commenter": [comment["user"] for comment in record["comments"]],
        "reviewed-by": [review["user"] for review in reviews],
    }
    if role == "mentions":
        return any(f"@{login}" in text.lower() and query.contains(text, login) for text in _texts(record, TEXTS))
    if role == "involves":
        return any(_is_of(record, part, login) for part in ("author", "assignee", "commenter", "mentions"))
    return login in {name.lower() for name in people[role]}
