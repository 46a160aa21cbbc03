"""Predicates that compare repositories of a forge by their issues, in the namespace `github`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial

from verifiers.errors import TargetMissing
from verifiers.formats.plain_json import MAX_BYTES, parse_json
from verifiers.predicates.context import Context
from verifiers.predicates.registry import NAME, NOTHING, PATH, Example, ProbeResult, names, predicate
from verifiers.predicates.values import json_equal
from verifiers.quoting import listed, quoted
from verifiers.states.forge.examples import ISSUE, forge
from verifiers.states.forge.parts import REF, REPOSITORY, SITE, STATES, git_of, lower, tip_of
from verifiers.states.forge.state import open_forge, parts_of
from verifiers.states.git.commit_files import content


def _number(context: Context, repository: str, state: str | None, labels: Sequence[str] = ()) -> int:
    return sum(
        state in {None, record["state"]} and lower(labels) <= lower(parts_of(record, "labels", context.budget))
        for record in open_forge(context).all_issues(repository)
    )


@predicate(
    "github.fewestIssues",
    words="of the repositories {among}, {repository} has the fewest issues",
    takes={"repository": REPOSITORY, "among": names(REPOSITORY, least=1)},
    may_take={"state": STATES},
    produces=NOTHING,
    example=Example(
        {**SITE, "among": ["acme/site", "ada/site"], "state": "open"},
        partial(forge, {**ISSUE, "state": "closed"}, fork="ada/site"),
        partial(forge, fork="ada/site"),
    ),
)
def fewest_issues(context: Context, repository: str, among: Sequence[str], state: str | None = None) -> ProbeResult:
    """None of these repositories has fewer issues in this state; of several with as few, the first counts."""
    numbers = {name.lower(): _number(context, name, state) for name in among}
    fewest = min(numbers, key=lambda name: numbers[name])
    return ProbeResult(
        fewest == repository.lower(), f"the issues are {listed([f'{n}: {c}' for n, c in numbers.items()])}"
    )


@predicate(
    "github.issueCountsFile",
    words="in {repository} on {branch}, the file {path} lists the repositories of {owner} with their numbers of issues",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH, "owner": NAME},
    may_take={
        "name_contains": NAME,
        "state": STATES,
        "labels": names(),
        "columns": {**names(), "minItems": 2, "maxItems": 2},
    },
    produces=NOTHING,  # the numbers are counted on the state
    example=Example(
        {**SITE, "branch": "main", "path": "counts.json", "owner": "acme", "state": "open"},
        partial(forge, merged=True, extra={"counts.json": '{"acme/site": 1}'}),
        partial(forge, merged=True, extra={"counts.json": '{"acme/site": 2}'}),
    ),
)
def issue_counts_file(
    context: Context,
    repository: str,
    branch: str,
    path: str,
    owner: str,
    *,
    name_contains: str = "",
    state: str | None = None,
    labels: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> ProbeResult:
    """The file gives, for just these repositories, the number of issues in this state with all these labels.

    With `columns`, it is CSV with a column of full names and one of numbers; without, a JSON object.
    """
    wanted = {
        name: _number(context, name, state, labels)
        for name in open_forge(context).repositories
        if name.lower().startswith(f"{owner.lower()}/") and name_contains.lower() in name.partition("/")[2].lower()
    }
    repo = git_of(context, repository)
    data = content(repo, tip_of(repo, branch), path, at=branch)
    if len(data) > MAX_BYTES:
        raise TargetMissing(f"{quoted(path)} is longer than {MAX_BYTES} bytes, which no task asks for")
    context.budget.parse_json(data)
    try:
        actual = _from_csv(data.decode(), columns) if columns else parse_json(data)
    except (ValueError, LookupError, TypeError, csv.Error):
        raise TargetMissing(f"{quoted(path)} has no such table") from None
    return ProbeResult(
        json_equal(actual, wanted), f"{quoted(path)} has {quoted(actual)}; the issues are {quoted(wanted)}"
    )


def _from_csv(text: str, columns: Sequence[str]) -> dict[str, int]:
    return {row[columns[0]]: int(row[columns[1]][:20]) for row in csv.DictReader(text.splitlines())}
