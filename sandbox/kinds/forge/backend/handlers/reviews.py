"""Reviews of pull requests, with their line comments."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers import pulls, users
from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.handlers.paging import listed
from sandbox.kinds.forge.backend.protocol.errors import invalid, refused, unprocessable
from sandbox.kinds.forge.backend.protocol.urls import node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage import diff, records
from sandbox.kinds.forge.backend.storage.records import Record
from sandbox.kinds.forge.backend.storage.state import Repo

EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "PENDING": "PENDING"}
OWN = {
    "APPROVE": "Can not approve your own pull request",
    "REQUEST_CHANGES": "Can not request changes on your own pull request",
}


def review(repo: Repo, record: Record, written: Record) -> dict[str, Any]:
    """Render a review."""
    page = repo_page(repo.name, f"/pull/{record['number']}#pullrequestreview-{written['id']}")
    home = repo_api(repo.name, f"/pulls/{record['number']}")
    submitted = {"submitted_at": written["submitted_at"]} if written["submitted_at"] else {}
    return {
        "id": written["id"],
        "node_id": node_id("PullRequestReview", written["id"]),
        "user": users.simple(repo.state, written["user"]),
        "body": written["body"],
        "state": written["state"],
        "html_url": page,
        "pull_request_url": home,
        "author_association": repo.association(written["user"]),
        "_links": {"html": {"href": page}, "pull_request": {"href": home}},
        **submitted,
        "commit_id": written["commit"],
    }


def line_comment(repo: Repo, record: Record, written: Record) -> dict[str, Any]:
    """Render a comment on a line."""
    home = repo_api(repo.name, f"/pulls/comments/{written['id']}")
    page = repo_page(repo.name, f"/pull/{record['number']}#discussion_r{written['id']}")
    pull = repo_api(repo.name, f"/pulls/{record['number']}")
    names = ("id", "diff_hunk", "path", "position", "line", "side", "body", "created_at", "updated_at")
    return {
        **{name: written[name] for name in names},
        "url": home,
        "pull_request_review_id": written["review"],
        "node_id": node_id("PullRequestReviewComment", written["id"]),
        "original_position": written["position"],
        "original_line": written["line"],
        "start_line": None,
        "original_start_line": None,
        "start_side": None,
        "subject_type": "line",
        "commit_id": written["commit"],
        "original_commit_id": written["commit"],
        "user": users.simple(repo.state, written["user"]),
        "html_url": page,
        "pull_request_url": pull,
        "author_association": repo.association(written["user"]),
        "_links": {"self": {"href": home}, "html": {"href": page}, "pull_request": {"href": pull}},
    }


def list_reviews(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls/{number}/reviews."""
    repo = call.repo
    record = repo.pull(call.parts["number"])
    visible = [
        entry for entry in record["pull"]["reviews"] if entry["state"] != "PENDING" or entry["user"] == call.viewer
    ]
    return listed(call, visible, lambda written: review(repo, record, written))


def list_line_comments(call: ApiCall) -> HttpResponse:
    """GET /repos/{owner}/{repo}/pulls/{number}/comments."""
    repo = call.repo
    record = repo.pull(call.parts["number"])
    pending = {entry["id"] for entry in record["pull"]["reviews"] if entry["state"] == "PENDING"}
    visible = [entry for entry in record["pull"]["review_comments"] if entry["review"] not in pending]
    return listed(call, visible, lambda written: line_comment(repo, record, written))


def create_review(call: ApiCall) -> HttpResponse:
    """POST /repos/{owner}/{repo}/pulls/{number}/reviews."""
    repo = call.repo_to_write(push=False)
    record = repo.pull(call.parts["number"])
    event, body = call.take("event", str, "PENDING"), call.take("body", str, "")
    if event not in EVENTS:
        raise invalid("PullRequestReview", "event", value=event)
    if record["user"] == call.login and event in OWN:
        raise refused(OWN[event])
    if any(entry["state"] == "PENDING" and entry["user"] == call.login for entry in record["pull"]["reviews"]):
        raise refused("User can only have one pending review per pull request")
    comments = call.take("comments", list, [])
    if event in {"REQUEST_CHANGES", "COMMENT"} and not body.strip() and not comments:
        raise refused("Body cannot be blank")
    head = pulls.refresh(repo, record)["head"]["sha"]
    commit = call.take("commit_id", str, head)
    if repo.git.kind(commit) != "commit":
        raise unprocessable("The commit_id is not part of the pull request")
    at = call.state.now if event != "PENDING" else None
    known = {"state": EVENTS[event], "body": body, "commit": commit}
    written = records.new_review(call.state.data, call.login, at, known)
    lines = [_placed(call, repo, record, written, comment) for comment in comments]
    record["pull"]["reviews"].append(written)
    record["pull"]["review_comments"] += lines
    record["updated_at"] = call.state.now
    return HttpResponse(200, review(repo, record, written))


def _placed(call: ApiCall, repo: Repo, record: Record, written: Record, comment: Any) -> Record:
    """Find the place of a comment in what the pull request changes."""
    if not isinstance(comment, dict) or not isinstance(comment.get("body"), str) or not comment["body"].strip():
        raise refused("Body cannot be blank")
    change = next(
        (candidate for candidate in pulls.changes(repo, record) if candidate.path == comment.get("path")), None
    )
    if change is None:
        raise refused("Path could not be resolved")
    position, line, side = _place(change.patch, comment)
    made = records.new_comment(call.state.data, call.login, call.state.now, comment["body"])
    hunk = diff.hunk_until(change.patch, position)
    place = {"path": change.path, "position": position, "line": line, "side": side, "diff_hunk": hunk}
    return made | place | {"review": written["id"], "commit": written["commit"]}


def _place(patch: str, comment: Record) -> tuple[int, int | None, str]:
    side = "LEFT" if comment.get("side") == "LEFT" else "RIGHT"
    line, position = comment.get("line"), comment.get("position")
    if isinstance(line, int):
        offset = diff.position_of_line(patch, line, left=side == "LEFT")
        if offset is None:
            raise refused("Line could not be resolved")
        return offset, line, side
    if not isinstance(position, int) or not 0 < position < len(patch.split("\n")):
        raise refused("Position could not be resolved")
    return position, diff.line_at(patch, position), side
