"""Branches and references."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.commits import EMPTY, commit
from sandbox.kinds.forge.backend.protocol.errors import ApiError, not_found, unprocessable
from sandbox.kinds.forge.backend.protocol.urls import escaped, node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import closing
from sandbox.kinds.forge.backend.storage.state import Repo


def reference(repo: Repo, name: str, sha: str) -> dict[str, Any]:
    """Render a reference by its full name."""
    kind = repo.git.kind(sha) or "commit"
    return {
        "ref": name,
        "node_id": node_id("Ref", f"{repo.record['id']}:{name}"),
        "url": repo_api(repo.name, f"/git/{escaped(name)}"),
        "object": {"sha": sha, "type": kind, "url": repo_api(repo.name, f"/git/{kind}s/{sha}")},
    }


def get_reference(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/git/ref/{ref}, and /git/refs/{ref}, which GitHub still answers."""
    repo, name = call.repo, f"refs/{call.parts['ref']}"
    if not repo.git.branches():
        raise ApiError(409, EMPTY)
    sha = repo.git.reference(name)
    if sha is None:
        raise not_found()
    return HttpResponse(200, reference(repo, name, sha))


def create_reference(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/git/refs."""
    repo = call.repo_to_write()
    name, sha = call.take("ref", str), call.take("sha", str)
    if not repo.git.branches():
        raise ApiError(409, EMPTY)
    if not name.startswith("refs/") or name.count("/") < 2:  # noqa: PLR2004 - refs/heads/x
        raise unprocessable("Reference name must start with 'refs/' and contain at least three slashes.")
    if not repo.git.is_valid(name):
        raise unprocessable(f"{name} is not a valid ref name.")
    if repo.git.reference(name) is not None:
        raise unprocessable("Reference already exists")
    _must_be_there(repo, name, sha)
    if _is_in_the_way(repo, name):
        raise unprocessable("Reference update failed")
    repo.git.move(name, sha)
    repo.pushed()
    made = reference(repo, name, sha)
    return HttpResponse(201, made, {"Location": made["url"]})


def update_reference(call: ApiCall) -> HttpResponse:
    """PATCH /repos/{owner}/{repo}/git/refs/{ref}."""
    repo, name = call.repo_to_write(), f"refs/{call.parts['ref']}"
    sha, force = call.take("sha", str), call.take("force", bool, default=False)
    old = repo.git.reference(name)
    if old is None:
        raise unprocessable("Reference does not exist")
    _must_be_there(repo, name, sha)
    if not force and repo.git.text("merge-base", old, sha, fine=(0, 1)) != old:
        raise unprocessable("Update is not a fast forward")
    move_branch(call, repo, name.removeprefix("refs/heads/"), sha) if _is_branch(name) else repo.git.move(name, sha)
    return HttpResponse(200, reference(repo, name, sha))


def _must_be_there(repo: Repo, name: str, sha: str) -> None:
    kind = repo.git.kind(sha)
    if kind is None or (_is_branch(name) and kind != "commit"):
        raise unprocessable("Object does not exist")


def _is_branch(name: str) -> bool:
    return name.startswith("refs/heads/")


def _is_in_the_way(repo: Repo, name: str) -> bool:
    """Say whether a branch is where the new one needs a folder, or the other way round."""
    others = [f"refs/heads/{branch}" for branch in repo.git.branches()]
    return any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in others)


def move_branch(call: ApiCall, repo: Repo, branch: str, sha: str) -> None:
    """Move a branch, or make it; what the new commits on the default branch say they close is closed."""
    old = repo.git.branch(branch)
    repo.git.move(f"refs/heads/{branch}", sha)
    repo.pushed()
    if branch == repo.default_branch:
        new = repo.git.history(sha, *([f"^{old}"] if old else []))
        for made in repo.git.commits(new):
            closing.close_named(repo, made.message, call.login)


def get_branch(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/branches/{branch}."""
    repo, name = call.repo, call.parts["branch"]
    tip = repo.git.branch(name)
    if tip is None:
        raise not_found("Branch not found")
    home = repo_api(repo.name, f"/branches/{escaped(name)}")
    body = {
        "name": name,
        "commit": commit(repo, repo.git.commit(tip)),
        "_links": {"self": home, "html": repo_page(repo.name, f"/tree/{escaped(name)}")},
        "protected": False,
        "protection": {"enabled": False},
        "protection_url": f"{home}/protection",
    }
    return HttpResponse(200, body)
