"""Merging a pull request, and bringing its branch up to date with its base."""

from __future__ import annotations

from sandbox.kinds.forge.backend.handlers import pulls
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.refs import move_branch
from sandbox.kinds.forge.backend.protocol.errors import ApiError, forbidden, unprocessable
from sandbox.kinds.forge.backend.protocol.urls import repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import closing, merge_commits, records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo

METHODS = ("merge", "squash", "rebase")


def merge_pull(call: ApiCall) -> HttpResponse:
    """PUT /repos/{owner}/{repo}/pulls/{number}/merge."""
    repo = call.repo_to_write()
    record = repo.pull(call.parts["number"])
    method = call.take("merge_method", str, "merge")
    if method not in METHODS:
        raise unprocessable(
            f"Invalid request.\n\nFor 'properties/merge_method', {method} is not a member of {list(METHODS)}."
        )
    _must_be_open(record)
    pull = pulls.refresh(repo, record)
    expected = call.take("sha", str, None)
    if expected is not None and expected != pull["head"]["sha"]:
        raise ApiError(409, "Head branch was modified. Review and try the merge again.")
    made = _merged(call, repo, record, method)
    pull |= {"merged_at": call.state.now, "merged_by": call.login, "merge_commit": made, "merge_method": method}
    records.close(record, call.login, call.state.now)
    move_branch(call, repo, pull["base"]["branch"], made)
    if pull["base"]["branch"] == repo.default_branch:
        closing.close_named(repo, record["body"] or "", call.login)
    return HttpResponse(200, {"sha": made, "merged": True, "message": "Pull Request successfully merged"})


def _must_be_open(record: Record) -> None:
    if record["state"] != "open":
        raise ApiError(405, "Pull Request is not mergeable")
    if record["pull"]["draft"]:
        raise ApiError(405, "Pull Request is still a draft")


def _merged(call: ApiCall, repo: Repo, record: Record, method: str) -> str:
    """Make the commits of a merge in this way, and give the base's new tip."""
    pull, who = record["pull"], call.state.person(call.login)
    base, head = pull["base"]["sha"], pull["head"]["sha"]
    try:
        if method == "rebase":
            return merge_commits.rebase(repo.git, base, head, call.state.seconds)
        title, body = _words(call, repo, record, method)
        message = f"{title}\n\n{body}" if body else title
        join = merge_commits.merge if method == "merge" else merge_commits.squash
        return join(repo.git, base, head, message, who)
    except merge_commits.Conflict:
        words = "This branch can't be rebased" if method == "rebase" else "Pull Request is not mergeable"
        raise ApiError(405, words) from None


def _words(call: ApiCall, repo: Repo, record: Record, method: str) -> tuple[str, str]:
    """Return title and body of the commit: what the call says, else what GitHub would write."""
    pull, number = record["pull"], record["number"]
    if method == "merge":
        owner = pull["head"]["repository"].partition("/")[0]
        title, body = f"Merge pull request #{number} from {owner}/{pull['head']['branch']}", record["title"]
    else:
        names = merge_commits.ahead(repo.git, pull["base"]["sha"], pull["head"]["sha"])[::-1]
        commits = repo.git.commits(names)
        subject = commits[0].message.partition("\n")[0] if len(commits) == 1 else record["title"]
        title, body = f"{subject} (#{number})", merge_commits.squash_message(commits)
    return call.take("commit_title", str, title) or title, call.take("commit_message", str, body)


def update_branch(call: ApiCall) -> HttpResponse:
    """PUT /repos/{owner}/{repo}/pulls/{number}/update-branch: merge the base into the head."""
    login, repo = call.login, call.repo_to_write(push=False)
    record = repo.pull(call.parts["number"])
    source = pulls.head_repository(repo, record)
    if source is None or not (
        source.may_push(login) or (record["pull"]["maintainer_can_modify"] and repo.may_push(login))
    ):
        raise forbidden()
    pull = pulls.refresh(repo, record)
    head, base = pull["head"], pull["base"]
    if call.take("expected_head_sha", str, head["sha"]) != head["sha"]:
        raise unprocessable("expected head sha didn’t match current head ref.")  # noqa: RUF001 - GitHub's own mark
    if record["state"] != "open" or not merge_commits.ahead(repo.git, head["sha"], base["sha"]):
        raise unprocessable("There are no new commits on the base branch.")
    source.git.fetch(repo.git, base["sha"])
    message = f"Merge branch '{base['branch']}' into {head['branch']}"
    try:
        made = merge_commits.merge(source.git, head["sha"], base["sha"], message, call.state.person(login))
    except merge_commits.Conflict:
        raise unprocessable("merge conflict between base and head") from None
    move_branch(call, source, head["branch"], made)
    record["updated_at"] = call.state.now
    pulls.refresh(repo, record)
    page = repo_page(repo.name, f"/pull/{record['number']}")
    return HttpResponse(202, {"message": "Updating pull request branch.", "url": page})
