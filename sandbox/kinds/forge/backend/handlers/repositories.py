"""Repositories: show, create and fork."""

from __future__ import annotations

import re
from typing import Any

from sandbox.kinds.forge.backend.handlers import users
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.protocol.errors import ApiError, custom, forbidden, invalid
from sandbox.kinds.forge.backend.protocol.urls import REPOSITORY, node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import records
from sandbox.kinds.forge.backend.storage.bare import Bare
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_HAS = {"has_issues": True, "has_projects": True, "has_downloads": True, "has_wiki": True}
_HAS_NOT = {"has_pages": False, "has_discussions": False}


def minimal(repo: Repo) -> dict[str, Any]:
    """Render a repository as lists of other things show it."""
    record = repo.record
    return {
        "id": record["id"],
        "node_id": node_id("Repository", record["id"]),
        "name": repo.short,
        "full_name": repo.name,
        "private": record["private"],
        "owner": users.simple(repo.state, repo.owner),
        "html_url": repo_page(repo.name),
        "description": record["description"],
        "fork": record["parent"] is not None,
        "url": repo_api(repo.name),
        **{name: repo_api(repo.name, rest) for name, rest in REPOSITORY.items()},
    }


def whole(repo: Repo, viewer: str | None) -> dict[str, Any]:
    """Render a repository with its figures."""
    record = repo.record
    forks = sum(other.record["parent"] == repo.name for other in repo.state.repositories())
    open_issues = sum(issue["state"] == "open" for issue in repo.issues)
    push = repo.may_push(viewer)
    return {
        **minimal(repo),
        **{name: record[name] for name in ("created_at", "updated_at", "pushed_at", "homepage", "language", "topics")},
        **{name: record[name] for name in ("archived", "default_branch")},
        "git_url": f"git://github.com/{repo.name}.git",
        "ssh_url": f"git@github.com:{repo.name}.git",
        "clone_url": repo_page(repo.name, ".git"),
        "svn_url": repo_page(repo.name),
        "mirror_url": None,
        "size": 0,
        "stargazers_count": record["stars"],
        "watchers_count": record["stars"],
        "watchers": record["stars"],
        "forks_count": forks,
        "forks": forks,
        "open_issues_count": open_issues,
        "open_issues": open_issues,
        **_HAS,
        **_HAS_NOT,
        "disabled": False,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "visibility": "private" if record["private"] else "public",
        "permissions": {"admin": push, "maintain": push, "push": push, "triage": push, "pull": True},
    }


def full(repo: Repo, viewer: str | None) -> dict[str, Any]:
    """Render a repository as it is shown alone."""
    out = whole(repo, viewer) | {"network_count": 0, "subscribers_count": 0}
    parent = repo.record["parent"]
    if parent is not None and repo.state.has(parent):
        out["parent"] = whole(repo.state.repository(parent), viewer)
        out["source"] = whole(root_of(repo), viewer)
    return out


def root_of(repo: Repo) -> Repo:
    """Return the repository that all forks of a network come from."""
    while repo.record["parent"] is not None and repo.state.has(repo.record["parent"]):
        repo = repo.state.repository(repo.record["parent"])
    return repo


def get(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}."""
    return HttpResponse(200, full(call.repo, call.viewer))


def create(call: ApiCall) -> HttpResponse:
    """POST /user/repos."""
    login = call.login
    short = _name(call, "")
    if call.state.has(f"{login}/{short}"):
        taken = "name already exists on this account"
        raise custom("Repository", taken, whole="Repository creation failed.", field="name")
    known = {name: call.take(name, str, None) for name in ("description", "homepage")}
    known["private"] = call.take("private", bool, default=False)
    repo = _made(call, f"{login}/{short}", known)
    Bare.create(repo.git.folder, repo.default_branch)
    if call.take("auto_init", bool, default=False):
        _readme(call, repo)
    return HttpResponse(201, full(repo, login), {"Location": repo_api(repo.name)})


def _name(call: ApiCall, default: str) -> str:
    """Return the name that a new repository is to have; what no name may hold becomes a dash."""
    short = re.sub(r"[^A-Za-z0-9._-]", "-", call.take("name", str, default).strip())
    if not _NAME.fullmatch(short) or short in {".", ".."}:
        raise invalid("Repository", "name", "missing_field" if not short else "invalid")
    return short


def _made(call: ApiCall, name: str, known: Record) -> Repo:
    record = records.new_repository(call.state.data, call.state.now, known)
    record["labels"] = records.default_labels(call.state.data)
    return call.state.add_repository(name, record)


def _readme(call: ApiCall, repo: Repo) -> None:
    text = f"# {repo.short}\n" + (f"{repo.record['description']}\n" if repo.record["description"] else "")
    blob = repo.git.put_blob(text.encode())
    tree = repo.git.put_tree(None, {"README.md": ("100644", blob)})
    who = call.state.person(call.login)
    repo.git.move(f"refs/heads/{repo.default_branch}", repo.git.put_commit(tree, [], "Initial commit", who, who))


def fork(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/forks."""
    login, old = call.login, call.repo
    wanted = call.take("organization", str, None) or call.query("organization") or login
    owner = call.state.login(wanted)
    if owner is None:
        raise invalid("Fork", "organization")
    if not call.state.may_act_for(login, owner):
        raise forbidden()
    if not old.git.branches():
        raise ApiError(
            403, "The repository exists, but it contains no Git content. Empty repositories cannot be forked."
        )
    return HttpResponse(202, full(_existing(old, owner) or _forked(call, old, owner), login))


def _existing(old: Repo, owner: str) -> Repo | None:
    """Return the owner's repository in the same network: there is at most one."""
    root = root_of(old).name
    ours = (repo for repo in old.state.repositories() if repo.owner == owner and root_of(repo).name == root)
    return next(ours, None)


def _forked(call: ApiCall, old: Repo, owner: str) -> Repo:
    base = _name(call, old.short)
    name, number = f"{owner}/{base}", 0
    while call.state.has(name):
        number += 1
        name = f"{owner}/{base}-{number}"
    fields = {key: old.record[key] for key in ("description", "homepage", "private", "default_branch", "language")}
    repo = _made(call, name, {**fields, "parent": old.name})
    repo.record["pushed_at"] = old.record["pushed_at"]
    call.state.copy_git(old, repo)
    return repo
