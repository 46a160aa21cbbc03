"""Records of `state.json`: a constructor for each. The seed of a world and the emulator both use them.

Whole: `{"schema", "clock", "last_id", "viewer", "token", "rate_limit", "users": {login: …}, "repositories":
{"owner/name": …}}`. A repository holds its issues by number; a pull request is an issue with a `pull`, as on GitHub.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Record = dict[str, Any]

SCHEMA = "quarterturn/forge/v1"
TOKEN = "world"  # noqa: S105 - it lets whoever is in the world act as the viewer, and nobody else is there
RATE_LIMIT = 5000
FIRST_ID = 1000
GREY = "ededed"  # of a label that was made by naming it
DEFAULT_LABELS = {  # what GitHub gives to a new repository
    "bug": ("d73a4a", "Something isn't working"),
    "documentation": ("0075ca", "Improvements or additions to documentation"),
    "duplicate": ("cfd3d7", "This issue or pull request already exists"),
    "enhancement": ("a2eeef", "New feature or request"),
    "good first issue": ("7057ff", "Good for newcomers"),
    "help wanted": ("008672", "Extra attention is needed"),
    "invalid": ("e4e669", "This doesn't seem right"),
    "question": ("d876e3", "Further information is requested"),
    "wontfix": ("ffffff", "This will not be worked on"),
}


def new_state(viewer: str, clock: int) -> Record:
    """Return a forge with no users and no repositories."""
    return {
        "schema": SCHEMA,
        "clock": clock,
        "last_id": FIRST_ID,
        "viewer": viewer,
        "token": TOKEN,
        "rate_limit": RATE_LIMIT,
        "users": {},
        "repositories": {},
    }


def next_id(state: Record) -> int:
    """Return a number that nothing else in the state has."""
    state["last_id"] += 1
    return int(state["last_id"])


def new_user(state: Record, login: str, created_at: str, known: Mapping[str, Any]) -> Record:
    """Return an account: a user, or an organisation with members."""
    return {
        "id": next_id(state),
        "login": login,
        "type": known.get("type", "User"),
        "name": known.get("name"),
        "email": known.get("email") or f"{login}@users.noreply.quarterturn.invalid",
        "bio": known.get("bio"),
        "company": known.get("company"),
        "location": known.get("location"),
        "members": list(known.get("members", [])),
        "created_at": created_at,
    }


def new_repository(state: Record, created_at: str, known: Mapping[str, Any]) -> Record:
    """Return a repository without issues; its git part is a folder of its own."""
    return {
        "id": next_id(state),
        "description": known.get("description"),
        "homepage": known.get("homepage"),
        "private": known.get("private", False),
        "archived": known.get("archived", False),
        "default_branch": known.get("default_branch", "main"),
        "topics": list(known.get("topics", [])),
        "language": known.get("language"),
        "stars": known.get("stars", 0),
        "collaborators": list(known.get("collaborators", [])),
        "parent": known.get("parent"),
        "created_at": created_at,
        "updated_at": created_at,
        "pushed_at": created_at,
        "labels": {},
        "milestones": {},
        "issues": {},
        "statuses": {},
    }


def default_labels(state: Record) -> dict[str, Record]:
    """Return the labels of a new repository."""
    known = DEFAULT_LABELS.items()
    return {name: new_label(state, {"color": color, "description": words}) for name, (color, words) in known}


def new_label(state: Record, known: Mapping[str, Any]) -> Record:
    """Return a label; its name is the key that it is kept under."""
    return {
        "id": next_id(state),
        "color": known.get("color", GREY),
        "description": known.get("description"),
    }


def new_milestone(state: Record, creator: str, created_at: str, known: Mapping[str, Any]) -> Record:
    """Return a milestone; its number is the key that it is kept under."""
    return {
        "id": next_id(state),
        "title": known["title"],
        "description": known.get("description"),
        "state": known.get("state", "open"),
        "due_on": known.get("due_on"),
        "creator": creator,
        "created_at": created_at,
    }


def next_number(repository: Record) -> int:
    """Return the number of a repository's next issue or pull request."""
    return max(map(int, repository["issues"]), default=0) + 1


def new_issue(state: Record, number: int, user: str, created_at: str, known: Mapping[str, Any]) -> Record:
    """Return an open issue."""
    return {
        "id": next_id(state),
        "number": number,
        "title": known["title"],
        "body": known.get("body"),
        "user": user,
        "labels": list(known.get("labels", [])),
        "assignees": list(known.get("assignees", [])),
        "milestone": known.get("milestone"),
        "state": "open",
        "state_reason": None,
        "created_at": created_at,
        "updated_at": created_at,
        "closed_at": None,
        "closed_by": None,
        "comments": [],
        "pull": None,
    }


def close(issue: Record, by: str, at: str, reason: str | None = "completed") -> None:
    """Close an issue or a pull request."""
    issue |= {"state": "closed", "closed_at": at, "closed_by": by, "updated_at": at}
    issue["state_reason"] = None if issue["pull"] else reason


def new_comment(state: Record, user: str, created_at: str, body: str) -> Record:
    """Return a comment on an issue or on the conversation of a pull request."""
    return {"id": next_id(state), "user": user, "body": body, "created_at": created_at, "updated_at": created_at}


def new_pull(state: Record, head: Mapping[str, str], base: Mapping[str, str], *, draft: bool) -> Record:
    """Return what makes an issue a pull request.

    `head` has `repository`, `branch` and `sha`, `base` has `branch` and `sha`; while the pull request is open its shas
    are those of the branches, and what is kept is where they last were.
    """
    return {
        "id": next_id(state),
        "head": dict(head),
        "base": dict(base),
        "draft": draft,
        "merged_at": None,
        "merged_by": None,
        "merge_commit": None,
        "merge_method": None,
        "maintainer_can_modify": False,
        "requested_reviewers": [],
        "reviews": [],
        "review_comments": [],
    }


def new_review(state: Record, user: str, submitted_at: str | None, known: Mapping[str, Any]) -> Record:
    """Return a review (`state` is APPROVED, CHANGES_REQUESTED, COMMENTED or PENDING)."""
    return {
        "id": next_id(state),
        "user": user,
        "state": known["state"],
        "body": known.get("body") or "",
        "commit": known["commit"],
        "submitted_at": submitted_at,
    }


def new_status(state: Record, creator: str, created_at: str, known: Mapping[str, Any]) -> Record:
    """Return a status check of a commit (`state` is error, failure, pending or success)."""
    return {
        "id": next_id(state),
        "context": known.get("context", "default"),
        "state": known["state"],
        "description": known.get("description"),
        "target_url": known.get("target_url"),
        "creator": creator,
        "created_at": created_at,
    }


def labelled(state: Record, repository: Record, names: Sequence[str]) -> list[str]:
    """Return the names as the repository spells its labels, making those that it does not have."""
    known = {name.lower(): name for name in repository["labels"]}
    out: list[str] = []
    for name in names:
        spelled = known.setdefault(name.lower(), name)
        if spelled not in repository["labels"]:
            repository["labels"][spelled] = new_label(state, {})
        if spelled not in out:
            out.append(spelled)
    return out
