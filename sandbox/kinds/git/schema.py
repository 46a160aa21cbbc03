"""JSON Schema of a git state and of a git change.

Names are narrower than git's own rules (git-check-ref-format(1)), so that every one that fits is one for git too.
"""

from __future__ import annotations

from typing import Any

from sandbox.kinds.common.check import PATH

_REF = {
    "type": "string",
    "pattern": r"^(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|[./]$))[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}$(?!\n)",
}
_STEPS = {"type": "string", "pattern": r"^[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}(~[0-9]{1,4})?$(?!\n)"}
_FILE = {"pattern": PATH, "not": {"pattern": r"(?:^|/)\.[gG][iI][tT](?:/|$)"}}
_FILES = {"type": "object", "propertyNames": _FILE, "additionalProperties": {"type": ["string", "null"]}}
_PATHS = {"type": "array", "uniqueItems": True, "items": {"type": "string", **_FILE}}
_MESSAGE = {"type": "string", "minLength": 1, "maxLength": 4000}
_REFS = {"type": "object", "propertyNames": _REF, "additionalProperties": _REF}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


STATE = _closed(
    [],
    repositories={
        "type": "object",
        "propertyNames": {"pattern": r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$(?!\n)"},
        "additionalProperties": _closed(
            [],
            commits={
                "type": "array",
                "items": _closed(
                    ["branch", "message"],
                    branch=_REF,
                    message=_MESSAGE,
                    files=_FILES,
                    author={"type": "string", "pattern": r"^[^<>\u0000-\u001f]+ <[^<>\u0000-\u001f]+>$(?!\n)"},
                    **{"from": _REF},
                ),
            },
            branches=_REFS,
            tags=_REFS,
            checkout=_REF,
            worktree=_FILES,
            staged=_PATHS,
        ),
    },
)
_CHANGE_SCHEMAS = {
    "delete_branch": _REF,
    "move_branch": _closed(["branch", "to"], branch=_REF, to=_STEPS),
    "reword": _closed(["branch", "message"], branch=_REF, message=_MESSAGE),
    "commit": _closed(["branch", "files", "message"], branch=_REF, files=_FILES, message=_MESSAGE),
    "delete_tag": _REF,
    "tag": _closed(["name", "to"], name=_REF, to=_STEPS),
    "checkout": _REF,
    "unstage": _PATHS,
    "stage": _FILES,
    "worktree": _FILES,
}
MUTATIONS = {
    "oneOf": [
        _closed(["repository", name], repository={"type": "string"}, **{name: schema})
        for name, schema in _CHANGE_SCHEMAS.items()
    ]
}
