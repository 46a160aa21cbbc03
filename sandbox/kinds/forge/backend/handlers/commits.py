"""Commits: list, read, and create from trees."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers import users
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.paging import listed
from sandbox.kinds.forge.backend.handlers.repositories import minimal
from sandbox.kinds.forge.backend.protocol.errors import ApiError, not_found, unprocessable
from sandbox.kinds.forge.backend.protocol.urls import escaped, node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import clock
from sandbox.kinds.forge.backend.storage.bare import HEX, Commit, GitIdentity, TreeEntry
from sandbox.kinds.forge.backend.storage.state import Repo

UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
EMPTY = "Git Repository is empty."


def signature(person: GitIdentity) -> dict[str, str]:
    """Render who made a commit."""
    return {"name": person.name, "email": person.email, "date": clock.written(person.date)}


def git_commit(repo: Repo, commit: Commit) -> dict[str, Any]:
    """Render a commit as git has it."""
    parents = [{"sha": sha, **_addresses(repo, "/git/commits", sha)} for sha in commit.parents]
    return {
        "sha": commit.sha,
        "node_id": node_id("Commit", f"{repo.record['id']}:{commit.sha}"),
        **_addresses(repo, "/git/commits", commit.sha),
        "author": signature(commit.author),
        "committer": signature(commit.committer),
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": repo_api(repo.name, f"/git/trees/{commit.tree}")},
        "parents": parents,
        "verification": UNSIGNED,
    }


def _addresses(repo: Repo, below: str, sha: str) -> dict[str, str]:
    return {"url": repo_api(repo.name, f"{below}/{sha}"), "html_url": repo_page(repo.name, f"/commit/{sha}")}


def commit(repo: Repo, read: Commit) -> dict[str, Any]:
    """Render a commit with the accounts behind it."""
    bare = git_commit(repo, read)
    inner = {name: bare[name] for name in ("author", "committer", "message", "tree", "verification")}
    state = repo.state
    return {
        "sha": read.sha,
        "node_id": bare["node_id"],
        "commit": {**inner, "url": bare["url"], "comment_count": 0},
        **_addresses(repo, "/commits", read.sha),
        "comments_url": repo_api(repo.name, f"/commits/{read.sha}/comments"),
        "author": users.simple_or_none(state, state.login_of(read.author.email)),
        "committer": users.simple_or_none(state, state.login_of(read.committer.email)),
        "parents": [{"sha": sha, **_addresses(repo, "/commits", sha)} for sha in read.parents],
    }


def list_commits(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/commits."""
    repo = call.repo
    if not repo.git.branches():
        raise ApiError(409, EMPTY)
    wanted = call.query("sha", repo.default_branch)
    tip = repo.git.resolve(wanted)
    if tip is None:
        raise not_found()
    path = call.query("path")
    names = repo.git.text("rev-list", tip, "--", *([path.strip("/")] if path else [])).split()
    read = {entry.sha: entry for entry in repo.git.commits(names)}
    matching = [read[sha] for sha in names if _asked_for(call, read[sha])]
    return listed(call, matching, lambda entry: commit(repo, entry))


def _asked_for(call: ApiCall, entry: Commit) -> bool:
    author, since, until = call.query("author"), call.query("since"), call.query("until")
    if author and author.lower() not in {
        entry.author.email.lower(),
        str(call.state.login_of(entry.author.email)).lower(),
    }:
        return False
    date = clock.written(entry.committer.date)
    return (not since or date >= since) and (not until or date <= until)


def _named(call: ApiCall) -> str:
    sha = call.repo.git.resolve(call.parts["ref"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.parts['ref']}")
    return sha


def combined_status(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/commits/{ref}/status."""
    repo, sha = call.repo, _named(call)
    latest = {status["context"]: status for status in repo.record["statuses"].get(sha, [])}
    states = {status["state"] for status in latest.values()}
    bad = "failure" if states & {"error", "failure"} else "pending"
    body = {
        "state": "success" if states == {"success"} else bad,
        "statuses": [_status(repo, sha, status) for status in latest.values()],
        "sha": sha,
        "total_count": len(latest),
        "repository": minimal(repo),
        "commit_url": repo_api(repo.name, f"/commits/{sha}"),
        "url": repo_api(repo.name, f"/commits/{sha}/status"),
    }
    return HttpResponse(200, body)


def _status(repo: Repo, sha: str, status: dict[str, Any]) -> dict[str, Any]:
    creator = users.simple(repo.state, status["creator"])
    return {
        "url": repo_api(repo.name, f"/statuses/{sha}"),
        "avatar_url": creator["avatar_url"],
        "id": status["id"],
        "node_id": node_id("StatusContext", status["id"]),
        **{name: status[name] for name in ("state", "description", "target_url", "context", "created_at")},
        "updated_at": status["created_at"],
    }


def create_commit(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/git/commits."""
    repo = call.repo_to_write()
    message, tree, parents = call.take("message", str), call.take("tree", str), call.texts("parents")
    if repo.git.kind(tree) != "tree":
        raise unprocessable("Tree SHA does not exist")
    if any(repo.git.kind(sha) != "commit" for sha in parents):
        raise unprocessable("Parent SHA does not exist or is not a commit object")
    author = person(call, "author")
    made = repo.git.put_commit(tree, parents, message, author, person(call, "committer", author))
    return HttpResponse(201, git_commit(repo, repo.git.commit(made)))


def person(call: ApiCall, name: str, default: GitIdentity | None = None) -> GitIdentity:
    """Read who made a commit from the body; it is the caller where nobody is named."""
    given = call.take(name, dict, None)
    if given is None:
        return default or call.state.person(call.login)
    who, email, date = given.get("name"), given.get("email"), given.get("date")
    if not isinstance(who, str) or not isinstance(email, str) or set("<>\n\0") & set(who + email):
        raise unprocessable(f'Invalid request.\n\n"email" or "name" of \'{name}\' wasn\'t supplied.')
    try:
        when = clock.read(date) if isinstance(date, str) else call.state.seconds
    except ValueError:
        raise unprocessable(f"Invalid request.\n\nFor 'properties/date', {date!r} is not a valid date.") from None
    return GitIdentity(who, email, when)


def create_tree(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/git/trees."""
    repo = call.repo_to_write()
    if not repo.git.branches():
        raise ApiError(409, EMPTY)
    base = call.take("base_tree", str, None)
    if base is not None and (not HEX.fullmatch(base) or repo.git.kind(base) not in {"tree", "commit"}):
        raise not_found()
    changes = dict(_change(repo, entry) for entry in call.take("tree", list))
    made = repo.git.put_tree(base, changes)
    entries = [_tree_entry(repo, entry) for entry in repo.git.entries(made)]
    url = repo_api(repo.name, f"/git/trees/{made}")
    return HttpResponse(201, {"sha": made, "url": url, "tree": entries, "truncated": False})


def _change(repo: Repo, entry: Any) -> tuple[str, tuple[str, str] | None]:
    path = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(path, str) or not is_path(path):
        raise unprocessable("tree.path contains a malformed path component")
    if "content" in entry:
        return path, (_mode(entry), repo.git.put_blob(str(entry["content"]).encode("utf-8", "replace")))
    sha = entry.get("sha")
    if sha is None:
        return path, None
    if not isinstance(sha, str) or repo.git.kind(sha) is None:
        raise unprocessable(f"tree.sha {sha} is not a valid blob")
    return path, (_mode(entry), sha)


def _mode(entry: dict[str, Any]) -> str:
    mode = entry.get("mode")
    if mode not in {"100644", "100755", "120000"}:
        raise unprocessable("Must supply a valid tree.mode")
    return str(mode)


def _tree_entry(repo: Repo, entry: TreeEntry) -> dict[str, Any]:
    kind = "trees" if entry.kind == "tree" else "blobs"
    out = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha}
    size = {"size": entry.size} if entry.kind == "blob" else {}
    return {**out, **size, "url": repo_api(repo.name, f"/git/{kind}/{escaped(entry.sha)}")}


def is_path(path: str) -> bool:
    """Say whether git would have a file of this path."""
    parts = path.split("/")
    return not any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts) and not set("\0\n") & set(path)
