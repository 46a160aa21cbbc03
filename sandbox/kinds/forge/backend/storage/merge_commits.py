"""Merging, squashing and rebasing, as real commits in a bare repository.

Git 2.39 has `git merge-tree --write-tree`, which merges two commits without a work tree. It has no `--merge-base` yet,
so a single commit is carried over (`cherry-pick`) by merging it with a stand-in: a commit with the target's tree whose
parent is the picked one's parent, so that their merge base is that parent.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.kinds.forge.backend.storage.bare import Bare, Commit, GitFailed, GitIdentity

WEB = ("GitHub", "noreply@github.com")  # the committer of what is merged in the browser or through the API


class Conflict(Exception):
    """The two sides changed the same lines."""


def merge_base(git: Bare, left: str, right: str) -> str | None:
    """Return the best common ancestor, or None where the histories have nothing in common."""
    return git.text("merge-base", left, right, fine=(0, 1)) or None


def merged_tree(git: Bare, left: str, right: str) -> str:
    """Return the tree of a merge.

    Raises:
        Conflict: it has no clean one.
    """
    try:
        return git.text("merge-tree", "--write-tree", "--allow-unrelated-histories", left, right).split("\n")[0]
    except GitFailed as error:
        raise Conflict from error


def ahead(git: Bare, base: str, head: str) -> list[str]:
    """Name the commits that `head` has and `base` has not, newest first."""
    return git.history(head, f"^{base}")


def merge(git: Bare, base: str, head: str, message: str, author: GitIdentity) -> str:
    """Make a merge commit and give its name.

    Raises:
        Conflict: see `merged_tree`.
    """
    tree = merged_tree(git, base, head)
    return git.put_commit(tree, [base, head], message, author, GitIdentity(*WEB, author.date))


def squash(git: Bare, base: str, head: str, message: str, author: GitIdentity) -> str:
    """Make one commit on `base` of all that `head` has changed, and give its name.

    Raises:
        Conflict: see `merged_tree`.
    """
    return git.put_commit(merged_tree(git, base, head), [base], message, author, GitIdentity(*WEB, author.date))


def rebase(git: Bare, base: str, head: str, date: int) -> str:
    """Carry the commits of `head` over to `base` one by one, merges left out, and give the last one's name.

    Raises:
        Conflict: one of them does not fit.
    """
    tip = base
    for commit in git.commits(git.history("--reverse", "--no-merges", head, f"^{base}")):
        tip = _picked(git, tip, commit, date)
    return tip


def _picked(git: Bare, onto: str, commit: Commit, date: int) -> str:
    web = GitIdentity(*WEB, date)
    stand_in = git.put_commit(git.commit(onto).tree, commit.parents[:1], "stand-in", web, web)
    tree = merged_tree(git, stand_in, commit.sha)
    return git.put_commit(tree, [onto], commit.message, commit.author, web)


def squash_message(commits: Sequence[Commit]) -> str:
    """Return the body of a squashed commit: the one commit's own, or a list of all (oldest first)."""
    if len(commits) == 1:
        return commits[0].message.partition("\n")[2].strip()
    return "\n\n".join(f"* {commit.message}" for commit in commits)
