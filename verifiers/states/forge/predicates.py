"""Predicates over what the GitHub server left: issues, pull requests, and the repositories behind them.

An `issue` is its number (a pull request's too) or its title, a `pull` its number or the branch that it comes from
(`owner:branch` from a fork). Where several have the title or the branch, one that is as asked for is enough. A file, a
branch or a commit is looked up in git and not in what the forge says of it. White space at the ends of a text does not
count.
"""

from __future__ import annotations

from functools import partial

from verifiers.linear_regex import PATTERN, Automaton, compiled
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NAME, NOTHING, PATH, TEXT, Example, ProbeResult, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.forge import counts, issues, pulls  # noqa: F401 - they register their predicates
from verifiers.states.forge.examples import forge
from verifiers.states.forge.parts import BRANCH, PART, REF, REPOSITORY, SITE, git_of, tip_of
from verifiers.states.forge.state import open_forge
from verifiers.states.git.commit_files import content, holds_nothing, holds_text
from verifiers.texts import decoded, is_as_given, lowered_bytes, place_of


@predicate(
    "github.repositoryExists",
    words="there is a repository {repository}",
    takes={"repository": REPOSITORY},
    may_take={"private": FLAG, "description": TEXT, "match_case": FLAG},
    produces=("description",),
    example=Example({"repository": "acme/site", "private": False}, forge, partial(forge, name="acme/other")),
)
def repository_exists(
    context: Context,
    repository: str,
    *,
    private: bool | None = None,
    description: str | None = None,
    match_case: bool = False,
) -> ProbeResult:
    """The repository is there; with the others, private or not, with this description.

    With `match_case`, its name is spelt just so.
    """
    name = open_forge(context).name(repository)
    record = open_forge(context).repositories[name]
    right = private in {None, record["private"]} and description in {None, record["description"] or ""}
    right = right and (name == repository or not match_case)
    kind = "private" if record["private"] else "public"
    spelt = "" if name == repository else f"spelt {quoted(name)}, "
    return ProbeResult(right, f"it is {spelt}{kind} with the description {quoted(record['description'])}")


@predicate(
    "github.forkExists",
    words="{owner} has a fork of {of}",
    takes={"of": REPOSITORY, "owner": NAME},
    produces=NOTHING,
    example=Example({"of": "acme/site", "owner": "ada"}, partial(forge, fork="ada/site"), forge),
)
def fork_exists(context: Context, of: str, owner: str) -> ProbeResult:
    """The account has a repository, of whatever name, that was forked from this one."""
    every = open_forge(context).repositories.items()
    context.budget.step(2 * len(every))
    forks = [name for name, record in every if (record["parent"] or "").lower() == of.lower()]
    theirs = [name for name in forks if name.lower().startswith(f"{owner.lower()}/")]
    return ProbeResult(bool(theirs), f"the forks are {listed(forks)}")


@predicate(
    "github.branchExists",
    words="the repository {repository} has a branch {branch}",
    takes={"repository": REPOSITORY, "branch": BRANCH},
    produces=NOTHING,
    example=Example({**SITE, "branch": "draft"}, forge, partial(forge, branches=("main",))),
)
def branch_exists(context: Context, repository: str, branch: str) -> ProbeResult:
    """There is a branch of this name."""
    repo = git_of(context, repository)
    context.budget.step(2 * len(repo.refs))
    heads = sorted(name.removeprefix("refs/heads/") for name in repo.refs if name.startswith("refs/heads/"))
    return ProbeResult(repo.branch(branch) is not None, f"the branches are {listed(heads)}")


@predicate(
    "github.branchAt",
    words="in {repository}, the branch {branch} is at the same commit as {same_as}",
    takes={"repository": REPOSITORY, "branch": BRANCH, "same_as": REF},
    produces=NOTHING,
    example=Example({**SITE, "branch": "main", "same_as": "draft~1"}, forge, partial(forge, merged=True)),
)
def branch_at(context: Context, repository: str, branch: str, same_as: str) -> ProbeResult:
    """The branch's tip is the commit that the other one means."""
    repo = git_of(context, repository)
    tip, other_tip = tip_of(repo, branch), tip_of(repo, same_as)
    return ProbeResult(tip == other_tip, f"{quoted(branch)} is at {tip[:12]}, {quoted(same_as)} at {other_tip[:12]}")


@predicate(
    "github.commitCount",
    words="in {repository}, the branch {branch} has {count} commits",
    takes={"repository": REPOSITORY, "branch": BRANCH, "count": COUNT},
    produces=NOTHING,
    example=Example({**SITE, "branch": "main", "count": 1}, forge, partial(forge, merged=True)),
)
def commit_count(context: Context, repository: str, branch: str, count: int) -> ProbeResult:
    """The number of commits that can be reached from the branch's tip, itself included."""
    repo = git_of(context, repository)
    actual = len(repo.history(tip_of(repo, branch)))
    return ProbeResult(actual == count, f"{quoted(branch)} has {actual} commits")


@predicate(
    "github.headMessage",
    words="in {repository}, the message of the last commit on {branch} is as given",
    takes={"repository": REPOSITORY, "branch": BRANCH},
    may_take={"equals": TEXT, "contains": PART},
    one_of=("equals", "contains"),
    produces=("equals", "contains"),
    example=Example({**SITE, "branch": "main", "equals": "Start"}, forge, partial(forge, merged=True)),
)
def head_message(
    context: Context, repository: str, branch: str, equals: str | None = None, contains: str | None = None
) -> ProbeResult:
    """The message of the branch's last commit is this text, or contains it."""
    repo = git_of(context, repository)
    message = repo.message(tip_of(repo, branch)).strip()
    return ProbeResult(is_as_given(message, equals, contains, context.budget), f"the message is {quoted(message)}")


@predicate(
    "github.fileAtBranch",
    words="in {repository} on {branch}, the file {path} holds exactly {text}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH, "text": TEXT},
    may_take={"trim": FLAG},
    produces=("text",),
    example=Example(
        {**SITE, "branch": "main", "path": "footer.html", "text": "bye\n"}, partial(forge, merged=True), forge
    ),
)
def file_at_branch(
    context: Context, repository: str, branch: str, path: str, text: str, *, trim: bool = False
) -> ProbeResult:
    """The branch has a regular file there with this content. With `trim`, white space at the ends does not count."""
    repo = git_of(context, repository)
    return holds_text(repo, tip_of(repo, branch), path, text, trim=trim, at=branch)


@predicate(
    "github.fileAbsentAtBranch",
    words="in {repository} on {branch}, there is no file {path}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH},
    produces=NOTHING,
    example=Example({**SITE, "branch": "main", "path": "footer.html"}, forge, partial(forge, merged=True)),
)
def file_absent_at_branch(context: Context, repository: str, branch: str, path: str) -> ProbeResult:
    """The branch is there, and has neither a file nor a folder at the path."""
    repo = git_of(context, repository)
    return holds_nothing(repo, tip_of(repo, branch), path, at=branch)


@predicate(
    "github.fileExistsAtBranch",
    words="in {repository} on {branch}, there is a file {path}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH},
    may_take={"not_empty": FLAG},
    produces=NOTHING,
    example=Example({**SITE, "branch": "main", "path": "footer.html"}, partial(forge, merged=True), forge),
)
def file_exists_at_branch(
    context: Context, repository: str, branch: str, path: str, *, not_empty: bool = False
) -> ProbeResult:
    """The branch has a regular file there; with `not_empty`, there is something in it."""
    repo = git_of(context, repository)
    data = content(repo, tip_of(repo, branch), path, at=branch)
    return ProbeResult(bool(data) or not not_empty, f"at {quoted(branch)}, {quoted(path)} has {len(data)} bytes")


@predicate(
    "github.fileContainsAtBranch",
    words="in {repository} on {branch}, the file {path} contains {text}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH, "text": PART},
    may_take={"ignore_case": FLAG},
    produces=("text",),
    example=Example(
        {**SITE, "branch": "main", "path": "footer.html", "text": "by"}, partial(forge, merged=True), forge
    ),
)
def file_contains_at_branch(
    context: Context, repository: str, branch: str, path: str, text: str, *, ignore_case: bool = False
) -> ProbeResult:
    """The branch has a regular file there, in which the text occurs."""
    repo = git_of(context, repository)
    data, wanted = content(repo, tip_of(repo, branch), path, at=branch), text.encode()
    if ignore_case:
        data, wanted = lowered_bytes(data, context.budget), text.lower().encode()
    at = place_of(wanted, data, context.budget)
    where = f"has it at byte {at}" if at >= 0 else f"does not have it in its {len(data)} bytes"
    return ProbeResult(at >= 0, f"at {quoted(branch)}, {quoted(path)} {where}")


@predicate(
    "github.fileMatchesAtBranch",
    words="in {repository} on {branch}, the file {path} matches the pattern {pattern}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH, "pattern": PATTERN},
    produces=NOTHING,  # a pattern is a condition, and not what somebody writes
    example=Example(
        {**SITE, "branch": "main", "path": "footer.html", "pattern": "^b[a-y]e"}, partial(forge, merged=True), forge
    ),
)
def file_matches_at_branch(context: Context, repository: str, branch: str, path: str, pattern: str) -> ProbeResult:
    """The branch has a regular file there whose text matches; the syntax is that of `filesystem.fileMatches`."""
    repo = git_of(context, repository)
    text = decoded(content(repo, tip_of(repo, branch), path, at=branch), context.budget)
    matches = Automaton(compiled(pattern), context.budget).search(text)
    return ProbeResult(matches, f"at {quoted(branch)}, {quoted(path)} {'has a match' if matches else 'has no match'}")


@predicate(
    "github.fileSameAs",
    words="in {repository} on {branch}, the file {path} is the one that {of} has on {on} at {at}",
    takes={"repository": REPOSITORY, "branch": REF, "path": PATH, "of": REPOSITORY, "on": REF, "at": PATH},
    may_take={"trim": FLAG},
    produces=NOTHING,
    example=Example(
        {**SITE, "branch": "main", "path": "footer.html", "of": "acme/site", "on": "draft", "at": "footer.html"},
        partial(forge, merged=True),
        forge,
    ),
)
def file_same_as(
    context: Context, repository: str, branch: str, path: str, *, of: str, on: str, at: str, trim: bool = False
) -> ProbeResult:
    """Both branches have a regular file there with one content. With `trim`, white space at the ends does not count."""
    repo, source = git_of(context, repository), git_of(context, of)
    data = content(repo, tip_of(repo, branch), path, at=branch)
    other = content(source, tip_of(source, on), at, at=on)
    if trim:
        data, other = data.strip(), other.strip()
    return ProbeResult(data == other, f"{quoted(path)} has {len(data)} bytes, {quoted(at)} has {len(other)}")
