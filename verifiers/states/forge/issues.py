"""Predicates over the issues of a forge, in the namespace `github`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NAME, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.forge.examples import ISSUE, forge
from verifiers.states.forge.parts import ISSUE_OF, PART, REPOSITORY, SITE, STATES, lower, some
from verifiers.states.forge.state import Record, open_forge, parts_of
from verifiers.texts import is_as_given, place_of


@predicate(
    "github.issueState",
    words="in {repository}, the issue {issue} is {state}",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF, "state": STATES},
    may_take={"reason": {"enum": ["completed", "not_planned", "duplicate"], "type": "string"}},
    produces=NOTHING,
    example=Example({**SITE, "issue": 1, "state": "closed"}, partial(forge, {**ISSUE, "state": "closed"}), forge),
)
def issue_state(
    context: Context, repository: str, issue: int | str, state: str, reason: str | None = None
) -> ProbeResult:
    """The issue is open or closed; with `reason`, closed for it."""
    return some(
        open_forge(context).issues(repository, issue),
        lambda record: record["state"] == state and reason in {None, record["state_reason"]},
        lambda record: f"{record['state']} ({record['state_reason'] or 'no reason'})",
    )


@predicate(
    "github.issueHasLabel",
    words="in {repository}, the issue {issue} has the label {label}",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF, "label": NAME},
    produces=NOTHING,
    example=Example({**SITE, "issue": "Menu", "label": "bug"}, partial(forge, {**ISSUE, "labels": ["bug"]}), forge),
)
def issue_has_label(context: Context, repository: str, issue: int | str, label: str) -> ProbeResult:
    """The label is one of the issue's, whatever its case."""
    return some(
        open_forge(context).issues(repository, issue),
        lambda record: label.lower() in lower(parts_of(record, "labels", context.budget)),
        lambda record: f"labelled {listed(record['labels'])}",
    )


@predicate(
    "github.issueLabels",
    words="in {repository}, the labels of the issue {issue} are {labels} and no others",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF, "labels": names()},
    produces=NOTHING,  # names, as the goal or a rule in the state has them
    example=Example({**SITE, "issue": 1, "labels": ["bug"]}, partial(forge, {**ISSUE, "labels": ["bug"]}), forge),
)
def issue_labels(context: Context, repository: str, issue: int | str, labels: Sequence[str]) -> ProbeResult:
    """The issue has just these labels, in any order and whatever their case."""
    return some(
        open_forge(context).issues(repository, issue),
        lambda record: lower(parts_of(record, "labels", context.budget)) == lower(labels),
        lambda record: f"labelled {listed(record['labels'])}",
    )


@predicate(
    "github.issueAssigned",
    words="in {repository}, the issue {issue} is assigned to {to} and nobody else",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF, "to": names()},
    produces=NOTHING,  # only who is there can be assigned
    example=Example({**SITE, "issue": 1, "to": ["bob"]}, partial(forge, {**ISSUE, "assignees": ["bob"]}), forge),
)
def issue_assigned(context: Context, repository: str, issue: int | str, to: Sequence[str]) -> ProbeResult:
    """The issue is assigned to just these accounts; an empty list means to nobody."""
    return some(
        open_forge(context).issues(repository, issue),
        lambda record: lower(parts_of(record, "assignees", context.budget)) == lower(to),
        lambda record: f"assigned to {listed(record['assignees'])}",
    )


@predicate(
    "github.issueMilestone",
    words="in {repository}, the issue {issue} is in the milestone {title}",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF, "title": NAME},
    produces=NOTHING,  # only a milestone that is there can be set
    example=Example({**SITE, "issue": 1, "title": "v1"}, partial(forge, {**ISSUE, "milestone": 1}), forge),
)
def issue_milestone(context: Context, repository: str, issue: int | str, title: str) -> ProbeResult:
    """The issue is in the milestone of this title."""
    milestones = open_forge(context).repository(repository)["milestones"]

    def milestone(record: Record) -> str:
        return str(milestones.get(str(record["milestone"]), {}).get("title", ""))

    return some(
        open_forge(context).issues(repository, issue),
        lambda record: milestone(record) == title,
        lambda record: f"in the milestone {quoted(milestone(record))}",
    )


@predicate(
    "github.issueCommented",
    words="in {repository}, the issue or pull request {number} has a comment as given",
    takes={"repository": REPOSITORY, "number": {"type": "integer", "minimum": 1}},
    may_take={"equals": TEXT, "contains": PART, "by": NAME},
    one_of=("equals", "contains"),
    produces=("equals", "contains"),
    example=Example(
        {**SITE, "number": 1, "contains": "on it", "by": "ada"},
        partial(forge, {**ISSUE, "comments": [{"user": "ada", "body": "I am on it."}]}),
        forge,
    ),
)
def issue_commented(
    context: Context,
    repository: str,
    number: int,
    equals: str | None = None,
    contains: str | None = None,
    *,
    by: str | None = None,
) -> ProbeResult:
    """The conversation has a comment that is this text, or contains it; with `by`, from this account."""
    record = open_forge(context).repository(repository)["issues"].get(str(number))
    if record is None:
        raise TargetMissing(f"there is no issue or pull request {number}")
    bodies = [
        comment["body"]
        for comment in parts_of(record, "comments", context.budget)
        if by is None or comment["user"].lower() == by.lower()
    ]
    return ProbeResult(
        any(is_as_given(body, equals, contains, context.budget) for body in bodies),
        f"the comments are {listed(bodies)}",
    )


@predicate(
    "github.issueTitle",
    words="in {repository}, the title of the issue or pull request {number} is as given",
    takes={"repository": REPOSITORY, "number": {"type": "integer", "minimum": 1}},
    may_take={"equals": TEXT, "contains": PART},
    one_of=("equals", "contains"),
    produces=("equals", "contains"),
    example=Example({**SITE, "number": 1, "equals": "The menu"}, partial(forge, {**ISSUE, "title": "The menu"}), forge),
)
def issue_title(
    context: Context, repository: str, number: int, equals: str | None = None, contains: str | None = None
) -> ProbeResult:
    """The title is this text, or contains it."""
    record = open_forge(context).repository(repository)["issues"].get(str(number))
    if record is None:
        raise TargetMissing(f"there is no issue or pull request {number}")
    return ProbeResult(
        is_as_given(record["title"], equals, contains, context.budget), f"the title is {quoted(record['title'])}"
    )


@predicate(
    "github.issueBody",
    words="in {repository}, the text of the issue {issue} is as given",
    takes={"repository": REPOSITORY, "issue": ISSUE_OF},
    may_take={"equals": TEXT, "contains": PART},
    one_of=("equals", "contains"),
    produces=("equals", "contains"),
    example=Example(
        {**SITE, "issue": "Menu", "contains": "opens"}, partial(forge, {**ISSUE, "body": "It never opens."}), forge
    ),
)
def issue_body(
    context: Context, repository: str, issue: int | str, equals: str | None = None, contains: str | None = None
) -> ProbeResult:
    """The issue's text is this, or contains it; an issue without one has an empty text."""
    return some(
        open_forge(context).issues(repository, issue),
        lambda record: is_as_given(record["body"] or "", equals, contains, context.budget),
        lambda record: f"with the text {quoted(record['body'])}",
    )


@predicate(
    "github.issueCount",
    words="{repository} has {count} issues of the kind that is given",
    takes={"repository": REPOSITORY, "count": COUNT},
    may_take={
        "state": STATES,
        "label": NAME,
        "title_contains": PART,
        "by": NAME,
        "title": TEXT,
        "labels": names(),
        "comment": TEXT,
        "body_contains": names(PART),
        "at_least": FLAG,
        "match_case": FLAG,
    },
    produces=NOTHING,
    example=Example({**SITE, "count": 1, "state": "closed"}, partial(forge, {**ISSUE, "state": "closed"}), forge),
)
def issue_count(
    context: Context,
    repository: str,
    count: int,
    state: str | None = None,
    *,
    label: str | None = None,
    title_contains: str | None = None,
    by: str | None = None,
    title: str | None = None,
    labels: Sequence[str] = (),
    comment: str | None = None,
    body_contains: Sequence[str] = (),
    at_least: bool = False,
    match_case: bool = False,
) -> ProbeResult:
    """The number of issues (pull requests left out) in this state, with this label, title and author.

    `title` is the whole title, `labels` are those that an issue has among others, `comment` is the whole text of a
    comment on it, and its text has each part of `body_contains`. With `at_least`, there may be more of them;
    with `match_case`, labels are spelt just so.
    """
    budget, spelt = context.budget, set if match_case else lower
    wanted = spelt([*labels, *([label] if label is not None else [])])

    def fits(record: Record) -> bool:
        budget.parse(len(record["body"] or ""))
        return (
            state in {None, record["state"]}
            and wanted <= spelt(parts_of(record, "labels", budget))
            and is_as_given(record["title"], None, title_contains, budget)
            and title in {None, record["title"]}
            and (by is None or by.lower() == record["user"].lower())
            and all(place_of(part, record["body"] or "", budget) >= 0 for part in body_contains)
            and (comment is None or comment in [other["body"] for other in parts_of(record, "comments", budget)])
        )

    matching = [record["title"] for record in open_forge(context).all_issues(repository) if fits(record)]
    right = len(matching) >= count if at_least else len(matching) == count
    return ProbeResult(right, f"there are {len(matching)}: {listed(matching)}")
