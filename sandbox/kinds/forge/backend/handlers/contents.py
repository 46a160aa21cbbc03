"""Contents API: files and folders of a commit, read and written one at a time."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.commits import git_commit, is_path, person
from sandbox.kinds.forge.backend.handlers.refs import move_branch
from sandbox.kinds.forge.backend.protocol.errors import ApiError, not_found, unprocessable
from sandbox.kinds.forge.backend.protocol.urls import RAW, escaped, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage.bare import TreeEntry
from sandbox.kinds.forge.backend.storage.state import Repo

FILE, LINK, FOLDER = "100644", "120000", "040000"
LINE = 60  # characters in a line of base64
BIGGEST = 1 << 20  # bytes of a file whose content is shown


def get_contents(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/contents/{path}."""
    repo, path = call.repo, call.parts.get("path", "").strip("/")
    if not repo.git.branches():
        raise not_found("This repository is empty.")
    ref = call.query("ref", repo.default_branch)
    at = repo.git.resolve(ref)
    if at is None:
        raise not_found(f"No commit found for the ref {ref}")
    if not path:
        return _folder(repo, at, "", ref)
    entry = repo.git.entry(at, path) if is_path(path) else None
    if entry is None:
        raise not_found()
    if entry.mode == FOLDER:
        return _folder(repo, entry.sha, path + "/", ref)
    return HttpResponse(200, _file(repo, entry, ref, repo.git.blob(entry.sha)))


def _folder(repo: Repo, tree: str, prefix: str, ref: str) -> HttpResponse:
    entries = [entry._replace(path=prefix + entry.path) for entry in repo.git.entries(tree)]
    return HttpResponse(200, [_described(repo, entry, ref) for entry in entries])


def _described(repo: Repo, entry: TreeEntry, ref: str) -> dict[str, Any]:
    path, of = escaped(entry.path), escaped(ref)
    is_folder = entry.mode == FOLDER
    url = repo_api(repo.name, f"/contents/{path}?ref={of}")
    git = repo_api(repo.name, f"/git/{'trees' if is_folder else 'blobs'}/{entry.sha}")
    page = repo_page(repo.name, f"/{'tree' if is_folder else 'blob'}/{of}/{path}")
    return {
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size,
        "url": url,
        "html_url": page,
        "git_url": git,
        "download_url": None if is_folder else f"{RAW}/{repo.name}/{of}/{path}",
        "type": {FOLDER: "dir", LINK: "symlink"}.get(entry.mode, "file"),
        "_links": {"self": url, "git": git, "html": page},
    }


def _file(repo: Repo, entry: TreeEntry, ref: str, data: bytes) -> dict[str, Any]:
    described = _described(repo, entry, ref)
    if entry.mode == LINK:
        return described | {"target": data.decode("utf-8", "replace")}
    if len(data) > BIGGEST:
        return described | {"content": "", "encoding": "none"}
    text = base64.b64encode(data).decode()
    lines = (text[at : at + LINE] for at in range(0, len(text), LINE))
    return described | {"content": "".join(f"{line}\n" for line in lines), "encoding": "base64"}


def put_contents(call: ApiCall) -> HttpResponse:
    """PUT /repos/{owner}/{repo}/contents/{path}."""
    repo, path = call.repo_to_write(), call.parts["path"]
    message, data = call.take("message", str), _decoded(call.take("content", str))
    if not is_path(path):
        raise unprocessable("path contains a malformed path component")
    branch = call.take("branch", str, repo.default_branch).removeprefix("refs/heads/")
    tip = repo.git.branch(branch)
    if tip is None and repo.git.branches():
        raise not_found(f"Branch {branch} not found")
    old = repo.git.entry(tip, path) if tip else None
    _must_replace(path, old, call.take("sha", str, None))
    changes = {path: (old.mode if old else FILE, repo.git.put_blob(data))}
    author = person(call, "author", person(call, "committer"))
    tree = repo.git.put_tree(tip, changes)
    made = repo.git.put_commit(tree, [tip] if tip else [], message, author, person(call, "committer", author))
    move_branch(call, repo, branch, made)
    entry = repo.git.entry(made, path)
    content = _described(repo, entry, branch) if entry else None
    return HttpResponse(200 if old else 201, {"content": content, "commit": git_commit(repo, repo.git.commit(made))})


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise unprocessable("content is not valid Base64") from None


def _must_replace(path: str, old: TreeEntry | None, sha: str | None) -> None:
    """Let only somebody who knows what is there write over it."""
    if old is not None and old.kind != "blob":
        raise unprocessable(f"Invalid request.\n\n'{path}' is a directory.")
    if old is not None and sha is None:
        raise unprocessable('Invalid request.\n\n"sha" wasn\'t supplied.')
    if sha is not None and (old is None or old.sha != sha):
        raise ApiError(409, f"{path} does not match {sha}")
