"""Predicates over the repositories that the git server left.

A branch is looked up among the branches only. A `ref` is `HEAD`, a branch, else a tag; `~N` after it goes back N
first parents. A repository that is missing or cannot be read counts against the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NOTHING, PATH, TEXT, Example, ProbeResult, names, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.git.commit_files import holds_nothing, holds_text
from verifiers.states.git.examples import Commit, repository
from verifiers.states.git.history import GitEntry, GitRepository, open_repository
from verifiers.texts import is_as_given

BRANCH = {
    "type": "string",
    "pattern": r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$",
    "description": "branch or tag name",
}
REF = {
    "type": "string",
    "pattern": r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}(~[0-9]{1,3})?$",
    "description": "ref, with `~N` for its Nth first parent",
}
REPOSITORY: Mapping[str, Any] = {**PATH, "description": "relative path of a repository"}

ONE: Commit = ("main", "Start the site", {"index.html": "<p>hi</p>\n"})
TWO: Commit = ("main", "Add a page", {"index.html": "<p>hi</p>\n", "docs/a.md": "A\n"})
SIDE: Commit = ("draft", "Try a footer", {"index.html": "<p>hi</p>\n", "footer.html": "bye\n"})
SITE = {"repository": "site"}


@predicate(
    "git.branchExists",
    words="the repository {repository} has a branch {branch}",
    takes={"repository": REPOSITORY, "branch": BRANCH},
    produces=NOTHING,
    example=Example({**SITE, "branch": "draft"}, partial(repository, [ONE, SIDE]), partial(repository, [ONE])),
)
def branch_exists(context: Context, repository: str, branch: str) -> ProbeResult:
    """There is a branch of this name."""
    repo = open_repository(context, repository)
    return ProbeResult(repo.branch(branch) is not None, f"the branches are {listed(_short(repo, 'refs/heads/'))}")


@predicate(
    "git.branchAt",
    words="in {repository}, the branch {branch} is at the same commit as {same_as}",
    takes={"repository": REPOSITORY, "branch": BRANCH, "same_as": REF},
    produces=NOTHING,
    example=Example(
        {**SITE, "branch": "main", "same_as": "draft~1"},
        partial(repository, [ONE, SIDE]),
        partial(repository, [ONE, SIDE, TWO]),
    ),
)
def branch_at(context: Context, repository: str, branch: str, same_as: str) -> ProbeResult:
    """The branch's tip is the commit that the other ref means."""
    repo = open_repository(context, repository)
    return _same(branch, _tip(repo, branch), same_as, _commit(repo, same_as))


@predicate(
    "git.commitCount",
    words="in {repository}, the branch {branch} has {count} commits",
    takes={"repository": REPOSITORY, "branch": BRANCH, "count": COUNT},
    produces=NOTHING,
    example=Example(
        {**SITE, "branch": "main", "count": 2}, partial(repository, [ONE, TWO]), partial(repository, [ONE])
    ),
)
def commit_count(context: Context, repository: str, branch: str, count: int) -> ProbeResult:
    """The number of commits that can be reached from the branch's tip, itself included."""
    repo = open_repository(context, repository)
    actual = len(repo.history(_tip(repo, branch)))
    return ProbeResult(actual == count, f"{quoted(branch)} has {actual} commits")


@predicate(
    "git.headMessage",
    words="in {repository}, the message of the last commit on {branch} is as given",
    takes={"repository": REPOSITORY, "branch": BRANCH},
    may_take={"equals": TEXT, "contains": {"type": "string", "minLength": 1}},
    one_of=("equals", "contains"),
    produces=("equals", "contains"),
    example=Example(
        {**SITE, "branch": "main", "equals": "Add a page"}, partial(repository, [ONE, TWO]), partial(repository, [ONE])
    ),
)
def head_message(
    context: Context, repository: str, branch: str, equals: str | None = None, contains: str | None = None
) -> ProbeResult:
    """The message of the branch's last commit is this text, or contains it; white space at its ends does not count."""
    repo = open_repository(context, repository)
    message = repo.message(_tip(repo, branch)).strip()
    return ProbeResult(is_as_given(message, equals, contains, repo.budget), f"the message is {quoted(message)}")


@predicate(
    "git.fileAtRef",
    words="in {repository} at {ref}, the file {path} holds exactly {text}",
    takes={"repository": REPOSITORY, "ref": REF, "path": PATH, "text": TEXT},
    may_take={"trim": FLAG},
    produces=("text",),
    example=Example(
        {**SITE, "ref": "main", "path": "docs/a.md", "text": "A\n"},
        partial(repository, [ONE, TWO]),
        partial(repository, [ONE]),
    ),
)
def file_at_ref(
    context: Context, repository: str, ref: str, path: str, text: str, *, trim: bool = False
) -> ProbeResult:
    """The commit has a regular file there with this content. With `trim`, white space at the ends does not count."""
    repo = open_repository(context, repository)
    return holds_text(repo, _commit(repo, ref), path, text, trim=trim, at=ref)


@predicate(
    "git.fileAbsentAtRef",
    words="in {repository} at {ref}, there is no file {path}",
    takes={"repository": REPOSITORY, "ref": REF, "path": PATH},
    produces=NOTHING,
    example=Example(
        {**SITE, "ref": "main", "path": "docs/a.md"}, partial(repository, [ONE]), partial(repository, [ONE, TWO])
    ),
)
def file_absent_at_ref(context: Context, repository: str, ref: str, path: str) -> ProbeResult:
    """The ref is there, and its commit has neither a file nor a folder at the path."""
    repo = open_repository(context, repository)
    return holds_nothing(repo, _commit(repo, ref), path, at=ref)


@predicate(
    "git.currentBranch",
    words="the repository {repository} is on the branch {branch}",
    takes={"repository": REPOSITORY, "branch": BRANCH},
    produces=NOTHING,
    example=Example(
        {**SITE, "branch": "draft"}, partial(repository, [ONE, SIDE], on="draft"), partial(repository, [ONE, SIDE])
    ),
)
def current_branch(context: Context, repository: str, branch: str) -> ProbeResult:
    """HEAD is on this branch, and the branch is there."""
    repo = open_repository(context, repository)
    on = repo.current()
    observation = f"HEAD is on {quoted(on)}" if on else "HEAD is on no branch"
    return ProbeResult(on == branch and repo.branch(branch) is not None, observation)


@predicate(
    "git.tagExists",
    words="the repository {repository} has a tag {tag}",
    takes={"repository": REPOSITORY, "tag": BRANCH},
    may_take={"same_as": REF},
    produces=NOTHING,
    example=Example({**SITE, "tag": "v1"}, partial(repository, [ONE], tags={"v1": "main"}), partial(repository, [ONE])),
)
def tag_exists(context: Context, repository: str, tag: str, same_as: str | None = None) -> ProbeResult:
    """There is a tag of this name, annotated or not; with `same_as`, at the commit that this ref means."""
    repo = open_repository(context, repository)
    at = repo.tag(tag)
    if at is None or same_as is None:
        return ProbeResult(at is not None, f"the tags are {listed(_short(repo, 'refs/tags/'))}")
    return _same(tag, at, same_as, _commit(repo, same_as))


@predicate(
    "git.isAncestor",
    words="in {repository}, the history of {of} contains {ancestor}",
    takes={"repository": REPOSITORY, "ancestor": REF, "of": REF},
    produces=NOTHING,
    example=Example(
        {**SITE, "ancestor": "main", "of": "draft"},
        partial(repository, [ONE, SIDE]),
        partial(repository, [ONE, SIDE, TWO]),
    ),
)
def is_ancestor(context: Context, repository: str, ancestor: str, of: str) -> ProbeResult:
    """The one commit can be reached from the other, as after a merge; a commit contains itself."""
    repo = open_repository(context, repository)
    outside = len(repo.history(_commit(repo, ancestor)) - repo.history(_commit(repo, of)))
    return ProbeResult(outside == 0, f"{quoted(ancestor)} has {outside} commits that {quoted(of)} has not")


@predicate(
    "git.commitChanges",
    words="in {repository}, the commit {ref} changes {paths} and nothing else",
    takes={"repository": REPOSITORY, "ref": REF, "paths": names(PATH)},
    produces=NOTHING,  # the files are there before the commit
    example=Example(
        {**SITE, "ref": "main", "paths": ["docs/a.md"]}, partial(repository, [ONE, TWO]), partial(repository, [ONE])
    ),
)
def commit_changes(context: Context, repository: str, ref: str, paths: Sequence[str]) -> ProbeResult:
    """The commit differs from its first parent (or from nothing, if it has none) in just these files."""
    repo = open_repository(context, repository)
    commit = _commit(repo, ref)
    parents = repo.parents(commit)
    before = repo.entries(parents[0]) if parents else {}
    return _just(_differing(before, repo.entries(commit)), paths, f"{quoted(ref)} changes")


@predicate(
    "git.stagedPaths",
    words="in {repository}, {paths} are staged and nothing else",
    takes={"repository": REPOSITORY, "paths": names(PATH)},
    produces=NOTHING,
    example=Example(
        {**SITE, "paths": ["new.txt"]}, partial(repository, [ONE], staged={"new.txt": "n"}), partial(repository, [ONE])
    ),
)
def staged_paths(context: Context, repository: str, paths: Sequence[str]) -> ProbeResult:
    """The index differs from HEAD in just these files; an empty list means that nothing is staged."""
    repo = open_repository(context, repository)
    return _just(_staged(repo), paths, "staged are")


@predicate(
    "git.worktreeClean",
    words="in {repository}, nothing is uncommitted",
    takes={"repository": REPOSITORY},
    may_take={"untracked": FLAG},
    produces=NOTHING,
    example=Example(
        SITE, partial(repository, [ONE]), partial(repository, [ONE], worktree={"index.html": "<p>changed</p>\n"})
    ),
)
def worktree_clean(context: Context, repository: str, *, untracked: bool = False) -> ProbeResult:
    """The index is as HEAD, the work tree has every file of it with that content and mode, and it has no others.

    `.gitignore` is not consulted and no filter is applied. With `untracked`, other files may be there. What a sparse
    checkout leaves out may be missing, and what is in a submodule is not looked at.
    """
    repo = open_repository(context, repository)
    files, submodules = repo.files(), repo.submodules()
    changed = _staged(repo) | {path for path, entry in repo.checked_out().items() if files.get(path) != entry}
    repo.budget.step(len(files) * len(submodules) // 16)
    strangers = set() if untracked else files.keys() - repo.index.keys()
    others = {path for path in strangers if not path.startswith(submodules)}
    if not changed and not others:
        return ProbeResult(holds=True, found="nothing is uncommitted")
    return ProbeResult(holds=False, found=f"changed: {listed(sorted(changed))}; untracked: {listed(sorted(others))}")


def _short(repo: GitRepository, prefix: str) -> list[str]:
    repo.budget.step(2 * len(repo.refs))
    return sorted(name.removeprefix(prefix) for name in repo.refs if name.startswith(prefix))


def _tip(repo: GitRepository, branch: str) -> str:
    tip = repo.branch(branch)
    if tip is None:
        raise TargetMissing(f"there is no branch {quoted(branch)}")
    return tip


def _commit(repo: GitRepository, ref: str) -> str:
    commit = repo.commit(ref)
    if commit is None:
        raise TargetMissing(f"there is no ref {quoted(ref)}")
    return commit


def _same(name: str, at: str, other: str, other_at: str) -> ProbeResult:
    return ProbeResult(at == other_at, f"{quoted(name)} is at {at[:12]}, {quoted(other)} at {other_at[:12]}")


def _just(actual: set[str], wanted: Sequence[str], what: str) -> ProbeResult:
    return ProbeResult(actual == set(wanted), f"{what}: {listed(sorted(actual))}")


def _differing(before: Mapping[str, GitEntry], after: Mapping[str, GitEntry]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def _staged(repo: GitRepository) -> set[str]:
    head = repo.commit("HEAD")
    return _differing(repo.entries(head) if head else {}, repo.index)
