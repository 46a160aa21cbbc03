"""Rendering of issues, labels, milestones and comments, as the API shows them."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers import users
from sandbox.kinds.forge.backend.protocol.urls import escaped, node_id, repo_api, repo_page
from sandbox.kinds.forge.backend.storage.records import DEFAULT_LABELS, Record
from sandbox.kinds.forge.backend.storage.state import Repo

REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def label(repo: Repo, name: str) -> dict[str, Any]:
    """Render a label."""
    record = repo.record["labels"][name]
    return {
        "id": record["id"],
        "node_id": node_id("Label", record["id"]),
        "url": repo_api(repo.name, f"/labels/{escaped(name)}"),
        "name": name,
        "color": record["color"],
        "default": name in DEFAULT_LABELS,
        "description": record["description"],
    }


def milestone(repo: Repo, number: int | None) -> dict[str, Any] | None:
    """Render a milestone, or none."""
    if number is None:
        return None
    record = repo.record["milestones"][str(number)]
    counts = [issue["state"] for issue in repo.issues if issue["milestone"] == number]
    home = repo_api(repo.name, f"/milestones/{number}")
    return {
        "url": home,
        "html_url": repo_page(repo.name, f"/milestone/{number}"),
        "labels_url": f"{home}/labels",
        "id": record["id"],
        "node_id": node_id("Milestone", record["id"]),
        "number": number,
        **{name: record[name] for name in ("title", "description", "state", "created_at", "due_on")},
        "creator": users.simple(repo.state, record["creator"]),
        "open_issues": counts.count("open"),
        "closed_issues": counts.count("closed"),
        "updated_at": record["created_at"],
        "closed_at": record["created_at"] if record["state"] == "closed" else None,
    }


def _reactions(home: str) -> dict[str, Any]:
    return {"url": f"{home}/reactions", "total_count": 0, **dict.fromkeys(REACTIONS, 0)}


def shared(repo: Repo, issue: Record) -> dict[str, Any]:
    """Render what an issue and a pull request have in common."""
    assignees = [users.simple(repo.state, login) for login in issue["assignees"]]
    names = ("number", "title", "body", "state", "created_at", "updated_at", "closed_at")
    return {
        **{name: issue[name] for name in names},
        "user": users.simple(repo.state, issue["user"]),
        "labels": [label(repo, name) for name in issue["labels"]],
        "locked": False,
        "active_lock_reason": None,
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "milestone": milestone(repo, issue["milestone"]),
        "author_association": repo.association(issue["user"]),
    }


def issue(repo: Repo, record: Record) -> dict[str, Any]:
    """Render an issue."""
    home = repo_api(repo.name, f"/issues/{record['number']}")
    kind, pull = ("PullRequest", "pull") if record["pull"] else ("Issue", "issues")
    return {
        **shared(repo, record),
        "url": home,
        "repository_url": repo_api(repo.name),
        "labels_url": f"{home}/labels{{/name}}",
        "comments_url": f"{home}/comments",
        "events_url": f"{home}/events",
        "timeline_url": f"{home}/timeline",
        "html_url": repo_page(repo.name, f"/{pull}/{record['number']}"),
        "id": record["id"],
        "node_id": node_id(kind, record["id"]),
        "comments": len(record["comments"]),
        "closed_by": users.simple_or_none(repo.state, record["closed_by"]),
        "state_reason": record["state_reason"],
        "reactions": _reactions(home),
        "performed_via_github_app": None,
        **({"draft": record["pull"]["draft"], "pull_request": _pull_links(repo, record)} if record["pull"] else {}),
    }


def _pull_links(repo: Repo, record: Record) -> dict[str, Any]:
    page = repo_page(repo.name, f"/pull/{record['number']}")
    return {
        "url": repo_api(repo.name, f"/pulls/{record['number']}"),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": record["pull"]["merged_at"],
    }


def comment(repo: Repo, record: Record, written: Record) -> dict[str, Any]:
    """Render a comment."""
    home = repo_api(repo.name, f"/issues/comments/{written['id']}")
    page = repo_page(repo.name, f"/{'pull' if record['pull'] else 'issues'}/{record['number']}")
    return {
        "url": home,
        "html_url": f"{page}#issuecomment-{written['id']}",
        "issue_url": repo_api(repo.name, f"/issues/{record['number']}"),
        "id": written["id"],
        "node_id": node_id("IssueComment", written["id"]),
        "user": users.simple(repo.state, written["user"]),
        **{name: written[name] for name in ("created_at", "updated_at", "body")},
        "author_association": repo.association(written["user"]),
        "reactions": _reactions(home),
        "performed_via_github_app": None,
    }
