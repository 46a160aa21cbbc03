"""JSON Schema of a github state and of a github change."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.common.check import PATH

LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}"
_LOGIN = {"type": "string", "pattern": rf"^{LOGIN}$(?!\n)"}
_NAME = {"type": "string", "pattern": rf"^{LOGIN}/(?!\.+$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$(?!\n)"}
_REF = {
    "type": "string",
    "pattern": r"^(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|[./]$))[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}$(?!\n)",
}
_HEAD = {"type": "string", "pattern": rf"^(?:{LOGIN}:)?[A-Za-z0-9_][A-Za-z0-9._/-]{{0,99}}$(?!\n)"}
_STEPS = {"type": "string", "pattern": r"^[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}(~[0-9]{1,4})?$(?!\n)"}
_FILE = {"pattern": PATH, "not": {"pattern": r"(?:^|/)\.[gG][iI][tT](?:/|$)"}}
_FILES = {"type": "object", "propertyNames": _FILE, "additionalProperties": {"type": ["string", "null"]}}
_DATE = {"type": "string", "pattern": r"^[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z)?$(?!\n)"}
_LINE = {"type": "string", "minLength": 1, "maxLength": 256}
_TEXT = {"type": "string", "maxLength": 65536}
_MAYBE_TEXT = {"type": ["string", "null"], "maxLength": 65536}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 100_000}
_WHICH = {"type": ["integer", "string"]}  # a number, a title, or the branch that a pull request comes from
_MESSAGE = {"type": "string", "minLength": 1, "maxLength": 4000}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_USER = _closed(
    ["login"],
    login=_LOGIN,
    type={"enum": ["User", "Organization"]},
    name=_LINE,
    email={"type": "string", "pattern": r"^[^<>\s@]+@[^<>\s@]+$(?!\n)"},
    bio=_TEXT,
    company=_LINE,
    location=_LINE,
    members=_list(_LOGIN),
)
_COMMIT = _closed(["branch", "message"], branch=_REF, message=_MESSAGE, files=_FILES, author=_LOGIN, **{"from": _REF})
_COMMENT = _closed(["user", "body"], user=_LOGIN, body={**_TEXT, "minLength": 1})
_SHARED = {
    "number": _NUMBER,
    "title": _LINE,
    "body": _MAYBE_TEXT,
    "user": _LOGIN,
    "labels": _list(_LINE),
    "assignees": _list(_LOGIN),
    "milestone": _NUMBER,
    "created_at": _DATE,
    "comments": _list(_COMMENT),
}
_ISSUE = _closed(
    ["title"], **_SHARED, state={"enum": ["open", "closed"]}, state_reason={"enum": ["completed", "not_planned"]}
)
_REVIEW = _closed(
    ["user", "state"], user=_LOGIN, state={"enum": ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]}, body=_TEXT
)
_PULL = _closed(
    ["title", "head", "base"],
    **_SHARED,
    head=_HEAD,
    base=_REF,
    state={"enum": ["open", "closed", "merged"]},
    draft=_FLAG,
    reviews=_list(_REVIEW),
)
_LABEL = _closed(["name"], name=_LINE, color={"type": "string", "pattern": r"^[0-9a-f]{6}$(?!\n)"}, description=_TEXT)
_STATUS = _closed(
    ["branch", "state"],
    branch=_REF,
    state={"enum": ["error", "failure", "pending", "success"]},
    context=_LINE,
    description=_TEXT,
)
_REPOSITORY = _closed(
    [],
    description=_TEXT,
    homepage=_LINE,
    private=_FLAG,
    archived=_FLAG,
    fork_of=_NAME,
    default_branch=_REF,
    topics=_list(_LINE),
    language=_LINE,
    stars={"type": "integer", "minimum": 0},
    created_at=_DATE,
    collaborators=_list(_LOGIN),
    commits=_list(_COMMIT),
    branches={"type": "object", "propertyNames": _REF, "additionalProperties": _REF},
    labels=_list(_LABEL),
    milestones=_list(
        _closed(["title"], title=_LINE, description=_TEXT, due_on=_DATE, state={"enum": ["open", "closed"]})
    ),
    issues=_list(_ISSUE),
    pulls=_list(_PULL),
    statuses=_list(_STATUS),
)
STATE = _closed(
    [],
    now=_DATE,
    viewer=_LOGIN,
    rate_limit={"type": "integer", "minimum": 0},
    users=_list(_USER),
    repositories={"type": "object", "propertyNames": _NAME, "additionalProperties": _REPOSITORY},
)

CHANGES: dict[str, dict[str, Any]] = {
    "delete_repository": {"const": True},
    "delete_forks": _LOGIN,  # of this repository, by this account
    "delete_branch": _REF,
    "branch": _closed(["name", "at"], name=_REF, at=_STEPS),
    "commit": _closed(["branch", "files", "message"], branch=_REF, files=_FILES, message=_MESSAGE),
    "issue": {
        **_closed(
            ["number"],
            number=_WHICH,
            title=_LINE,
            body=_MAYBE_TEXT,
            state={"enum": ["open", "closed"]},
            labels=_list(_LINE),
            assignees=_list(_LOGIN),
            milestone={"type": ["integer", "null"]},
            base=_REF,
            draft=_FLAG,
            merged=_FLAG,
        ),
        "minProperties": 2,
    },
    "new_issue": _closed(
        ["title"],
        title=_LINE,
        body=_MAYBE_TEXT,
        labels=_list(_LINE),
        assignees=_list(_LOGIN),
        user=_LOGIN,
        state={"enum": ["open", "closed"]},
    ),
    "delete_issue": _WHICH,
    "comment": _closed(["number", "body"], number=_WHICH, body=_TEXT, user=_LOGIN),
    "drop_comments": _WHICH,
    "review": _closed(["number", "state"], number=_WHICH, state={"type": "string"}, body=_TEXT, user=_LOGIN),
    "drop_reviews": _WHICH,
}
MUTATIONS = {
    "oneOf": [_closed(["repository", name], repository=_NAME, **{name: schema}) for name, schema in CHANGES.items()]
}
