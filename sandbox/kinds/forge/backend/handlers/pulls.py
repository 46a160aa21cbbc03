"""Pull requests: shown, opened and listed. Merging is in merges.py, reviewing in reviews.py.

While a pull request is open, its two ends are where its branches are; when it is closed or merged, they stay where they
were. GitHub keeps its head in `refs/pull/<number>/head` of the repository that it is for; so does this.
"""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers import issue_shapes, users
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.commits import commit
from sandbox.kinds.forge.backend.handlers.paging import listed
from sandbox.kinds.forge.backend.handlers.repositories import root_of, whole
from sandbox.kinds.forge.backend.protocol.errors import custom, forbidden, invalid
from sandbox.kinds.forge.backend.protocol.urls import RAW, escaped, node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import diff, merge_commits, records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo


def head_repository(repo: Repo, record: Record) -> Repo | None:
    """Return the repository that a pull request comes from, if it is still there."""
    name = record["pull"]["head"]["repository"]
    return repo.state.repository(name) if repo.state.has(name) else None


def refresh(repo: Repo, record: Record) -> Record:
    """Bring the ends of an open pull request to where its branches are, and give its `pull`."""
    pull: Record = record["pull"]
    if record["state"] != "open":
        return pull
    source = head_repository(repo, record)
    head = source.git.branch(pull["head"]["branch"]) if source else None
    if source is not None and head is not None:
        repo.git.fetch(source.git, head)
        pull["head"]["sha"] = head
        repo.git.move(f"refs/pull/{record['number']}/head", head)
    pull["base"]["sha"] = repo.git.branch(pull["base"]["branch"]) or pull["base"]["sha"]
    return pull


def changes(repo: Repo, record: Record) -> list[diff.Change]:
    """List what a pull request changes: what its head has done since it left its base."""
    pull = refresh(repo, record)
    head = pull["head"]["sha"]
    start = merge_commits.merge_base(repo.git, pull["base"]["sha"], head) or diff.NOTHING
    return diff.changes(repo.git, start, head)


# -- shown -----------------------------------------------------------------------------------------------------------


def simple(repo: Repo, record: Record, viewer: str | None) -> dict[str, Any]:
    """Render a pull request as lists show it."""
    pull = refresh(repo, record)
    home, number = repo_api(repo.name, f"/pulls/{record['number']}"), record["number"]
    page, issue = repo_page(repo.name, f"/pull/{number}"), repo_api(repo.name, f"/issues/{number}")
    addresses = {
        "comments_url": f"{issue}/comments",
        "commits_url": f"{home}/commits",
        "review_comments_url": f"{home}/comments",
        "review_comment_url": repo_api(repo.name, "/pulls/comments{/number}"),
        "statuses_url": repo_api(repo.name, f"/statuses/{pull['head']['sha']}"),
    }
    return {
        **issue_shapes.shared(repo, record),
        "url": home,
        "id": pull["id"],
        "node_id": node_id("PullRequest", pull["id"]),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        **addresses,
        "merged_at": pull["merged_at"],
        "merge_commit_sha": pull["merge_commit"],
        "requested_reviewers": [users.simple(repo.state, login) for login in pull["requested_reviewers"]],
        "requested_teams": [],
        "draft": pull["draft"],
        "head": _end(head_repository(repo, record), pull["head"], viewer, pull["head"]["repository"]),
        "base": _end(repo, pull["base"], viewer, repo.name),
        "_links": _links(home, page, issue, addresses),
        "auto_merge": None,
    }


def _end(repo: Repo | None, end: Record, viewer: str | None, name: str) -> dict[str, Any]:
    owner = name.partition("/")[0]
    return {
        "label": f"{owner}:{end['branch']}",
        "ref": end["branch"],
        "sha": end["sha"],
        "user": users.simple(repo.state, owner) if repo else None,
        "repo": whole(repo, viewer) if repo else None,
    }


def _links(home: str, page: str, issue: str, addresses: dict[str, str]) -> dict[str, Any]:
    named = {name.removesuffix("_url"): address for name, address in addresses.items()}
    return {name: {"href": address} for name, address in {"self": home, "html": page, "issue": issue, **named}.items()}


def full(repo: Repo, record: Record, viewer: str | None) -> dict[str, Any]:
    """Render a pull request as it is shown alone."""
    out, pull = simple(repo, record, viewer), record["pull"]
    changed, mergeable = changes(repo, record), is_mergeable(repo, record)
    states = {True: "draft" if pull["draft"] else "clean", False: "dirty", None: "unknown"}
    return out | {
        "merged": pull["merged_at"] is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": states[mergeable],
        "merged_by": users.simple_or_none(repo.state, pull["merged_by"]),
        "comments": len(record["comments"]),
        "review_comments": len(pull["review_comments"]),
        "maintainer_can_modify": pull["maintainer_can_modify"],
        "commits": len(merge_commits.ahead(repo.git, pull["base"]["sha"], pull["head"]["sha"])),
        "additions": sum(change.additions for change in changed),
        "deletions": sum(change.deletions for change in changed),
        "changed_files": len(changed),
    }


def is_mergeable(repo: Repo, record: Record) -> bool | None:
    """Say whether an open pull request merges cleanly; None where it is not open."""
    if record["state"] != "open":
        return None
    try:
        merge_commits.merged_tree(repo.git, record["pull"]["base"]["sha"], record["pull"]["head"]["sha"])
    except merge_commits.Conflict:
        return False
    return True


# -- calls -----------------------------------------------------------------------------------------------------------


def get_pull(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls/{number}."""
    return HttpResponse(200, full(call.repo, call.repo.pull(call.parts["number"]), call.viewer))


def list_pulls(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls."""
    repo = call.repo
    state, sort = call.one_of("state", ("open", "closed", "all")), call.query("sort", "created")
    wanted = [record for record in repo.issues if record["pull"] and state in {"all", record["state"]}]
    wanted = [record for record in wanted if _is_between(call, record["pull"])]
    usual = "desc" if sort == "created" else "asc"
    newest_first = call.query("direction", usual) == "desc"
    ordered = sorted(wanted, key=lambda record: (_rank(record, sort), record["number"]), reverse=newest_first)
    return listed(call, ordered, lambda record: simple(repo, record, call.viewer))


def _is_between(call: ApiCall, pull: Record) -> bool:
    base, head = call.query("base"), call.query("head")
    label = f"{pull['head']['repository'].partition('/')[0]}:{pull['head']['branch']}"
    return base in {"", pull["base"]["branch"]} and (":" not in head or head.lower() == label.lower())


def _rank(record: Record, sort: str) -> Any:
    ranks = {"updated": record["updated_at"], "popularity": len(record["comments"])}
    return ranks.get(sort, record["created_at"])


def create_pull(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/pulls."""
    repo = call.repo_to_write(push=False)
    source, branch = _source(call, repo)
    base = call.take("base", str)
    head_sha, base_sha = source.git.branch(branch), repo.git.branch(base)
    if base_sha is None:
        raise invalid("PullRequest", "base")
    if head_sha is None:
        raise invalid("PullRequest", "head")
    if not source.may_push(call.login):
        raise forbidden()
    _must_be_new(repo, source, branch, base)
    repo.git.fetch(source.git, head_sha)
    if not merge_commits.ahead(repo.git, base_sha, head_sha):
        raise custom("PullRequest", f"No commits between {base} and {call.take('head', str)}")
    title = call.take("title", str, "").strip()
    if not title:
        raise invalid("PullRequest", "title", "missing_field")
    record = repo.add_issue(call.login, {"title": title, "body": call.take("body", str, None)})
    ends = {"repository": source.name, "branch": branch, "sha": head_sha}, {"branch": base, "sha": base_sha}
    record["pull"] = records.new_pull(call.state.data, *ends, draft=call.take("draft", bool, default=False))
    record["pull"]["maintainer_can_modify"] = call.take("maintainer_can_modify", bool, default=False)
    made = full(repo, record, call.viewer)
    return HttpResponse(201, made, {"Location": made["url"]})


def _source(call: ApiCall, repo: Repo) -> tuple[Repo, str]:
    """Return the repository and branch that `head` names: `branch`, or `owner:branch` for one of the same network."""
    head = call.take("head", str)
    owner, colon, branch = head.partition(":")
    if not colon or owner.lower() == repo.owner.lower():
        return repo, branch if colon else head
    root = root_of(repo).name
    for other in call.state.repositories():
        if other.owner.lower() == owner.lower() and root_of(other).name == root and other.may_read(call.login):
            return other, branch
    raise invalid("PullRequest", "head")


def _must_be_new(repo: Repo, source: Repo, branch: str, base: str) -> None:
    for record in repo.issues:
        pull = record["pull"]
        if not pull or record["state"] != "open" or pull["base"]["branch"] != base:
            continue
        if (pull["head"]["repository"], pull["head"]["branch"]) == (source.name, branch):
            raise custom("PullRequest", f"A pull request already exists for {source.owner}:{branch}.")


def list_files(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls/{number}/files."""
    repo = call.repo
    record = repo.pull(call.parts["number"])
    changed = changes(repo, record)
    return listed(call, changed, lambda change: _changed_file(repo, change, record["pull"]["head"]["sha"]))


def _changed_file(repo: Repo, change: diff.Change, head: str) -> dict[str, Any]:
    path = escaped(change.path)
    return {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": repo_page(repo.name, f"/blob/{head}/{path}"),
        "raw_url": f"{RAW}/{repo.name}/{head}/{path}",
        "contents_url": repo_api(repo.name, f"/contents/{path}?ref={head}"),
        **({"patch": change.patch} if change.patch else {}),
        **({"previous_filename": change.before} if change.before else {}),
    }


def list_commits(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls/{number}/commits."""
    repo = call.repo
    pull = refresh(repo, repo.pull(call.parts["number"]))
    names = merge_commits.ahead(repo.git, pull["base"]["sha"], pull["head"]["sha"])[::-1]
    return listed(call, repo.git.commits(names), lambda read: commit(repo, read))
