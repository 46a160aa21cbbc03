"""Predicates over the pull requests of a forge, in the namespace `github`."""

from __future__ import annotations

from functools import partial

from verifiers.predicates.context import Context
from verifiers.predicates.registry import FLAG, NAME, NOTHING, TEXT, Example, ProbeResult, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.forge.examples import PULL, REVIEW, forge
from verifiers.states.forge.parts import (
    BRANCH,
    METHODS,
    PART,
    PULL_OF,
    REPOSITORY,
    REVIEWS,
    SITE,
    git_of,
    has,
    some,
    state_of,
)
from verifiers.states.forge.state import Record, open_forge, parts_of
from verifiers.texts import is_as_given


@predicate(
    "github.prMerged",
    words="in {repository}, the pull request {pull} is merged",
    takes={"repository": REPOSITORY, "pull": PULL_OF},
    may_take={"into": BRANCH, "method": METHODS},
    produces=NOTHING,
    example=Example({**SITE, "pull": 2, "into": "main"}, partial(forge, merged=True), forge),
)
def pr_merged(
    context: Context, repository: str, pull: int | str, into: str | None = None, method: str | None = None
) -> ProbeResult:
    """The pull request was merged, and the branch that it was merged into still has what came of it."""
    repo = git_of(context, repository)

    def merged(record: Record) -> bool:
        end, made = record["pull"]["base"]["branch"], record["pull"]["merge_commit"]
        if record["pull"]["merged_at"] is None or into not in {None, end}:
            return False
        return method in {None, record["pull"]["merge_method"]} and has(repo, end, made)

    return some(
        open_forge(context).pulls(repository, pull),
        merged,
        lambda record: f"{state_of(record)} for {quoted(record['pull']['base']['branch'])}",
    )


@predicate(
    "github.prOpen",
    words="{repository} has an open pull request from {head} to {base}",
    takes={"repository": REPOSITORY, "head": {**BRANCH, "pattern": r"^([A-Za-z0-9-]{1,39}:)?[\w][\w./+-]{0,199}$"}},
    may_take={"base": BRANCH, "title": TEXT, "body_contains": PART, "draft": FLAG, "body": TEXT},
    produces=("title", "body_contains", "body"),
    example=Example({**SITE, "head": "draft", "base": "main"}, forge, partial(forge, merged=True)),
)
def pr_open(
    context: Context,
    repository: str,
    head: str,
    *,
    base: str | None = None,
    title: str | None = None,
    body_contains: str | None = None,
    draft: bool | None = None,
    body: str | None = None,
) -> ProbeResult:
    """A pull request from this branch is open; with the others: to this base, with this title and text, a draft.

    `body` is the whole text, `body_contains` a part of it.
    """
    return some(
        open_forge(context).pulls(repository, head),
        lambda record: (
            record["state"] == "open"
            and base in {None, record["pull"]["base"]["branch"]}
            and (title is None or record["title"].strip() == title.strip())
            and is_as_given(record["body"] or "", None, body_contains, context.budget)
            and draft in {None, record["pull"]["draft"]}
            and (body is None or is_as_given(record["body"] or "", body, None, context.budget))
        ),
        lambda record: (
            f"{state_of(record)} for {quoted(record['pull']['base']['branch'])} "
            f"with the title {quoted(record['title'])}"
        ),
    )


@predicate(
    "github.prClosed",
    words="in {repository}, the pull request {pull} is closed without being merged",
    takes={"repository": REPOSITORY, "pull": PULL_OF},
    produces=NOTHING,
    example=Example({**SITE, "pull": "draft"}, partial(forge, {**PULL, "state": "closed"}), forge),
)
def pr_closed(context: Context, repository: str, pull: int | str) -> ProbeResult:
    """The pull request is closed and was not merged."""
    every = open_forge(context).pulls(repository, pull)
    return some(every, lambda record: state_of(record) == "closed", state_of)


@predicate(
    "github.prReviewed",
    words="in {repository}, the pull request {pull} has a review {state}",
    takes={"repository": REPOSITORY, "pull": PULL_OF, "state": REVIEWS},
    may_take={"by": NAME, "contains": PART},
    produces=("contains",),
    example=Example(
        {**SITE, "pull": 2, "state": "APPROVED", "by": "ada"}, partial(forge, {**PULL, "reviews": [REVIEW]}), forge
    ),
)
def pr_reviewed(
    context: Context,
    repository: str,
    pull: int | str,
    state: str,
    *,
    by: str | None = None,
    contains: str | None = None,
) -> ProbeResult:
    """A review of the pull request came to this; with the others, from this account, with this in its text."""

    def fits(review: Record) -> bool:
        from_them = by is None or review["user"].lower() == by.lower()
        return review["state"] == state and from_them and is_as_given(review["body"], None, contains, context.budget)

    return some(
        open_forge(context).pulls(repository, pull),
        lambda record: any(map(fits, parts_of(record["pull"], "reviews", context.budget))),
        lambda record: (
            f"reviewed: {listed([review['user'] + ' ' + review['state'] for review in record['pull']['reviews']])}"
        ),
    )
