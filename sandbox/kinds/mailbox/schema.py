"""JSON Schema of mail in a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = {"type": "string", "maxLength": 20_000}
_LINE = {"type": "string", "maxLength": 500, "pattern": r"^[^\r\n\u0000]*$(?!\n)"}
# With some Pythons the server can neither send nor forward a subject beyond ASCII.
_SUBJECT = {"type": "string", "pattern": r"^[ -~]{0,500}$(?!\n)"}
_MAIL = {"type": "string", "pattern": r"^[^\r\n\u0000,]{0,80}[^\s@<>,]{1,64}@[A-Za-z0-9.-]{1,100}>?$(?!\n)"}
_MAILS = {"type": "array", "uniqueItems": True, "items": _MAIL}
_ID = {"type": "string", "pattern": r"^[A-Za-z0-9._+-]{1,80}@[A-Za-z0-9.-]{1,80}$(?!\n)"}
FOLDER = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9][A-Za-z0-9 _-]{0,60}(/[A-Za-z0-9][A-Za-z0-9 _-]{0,60}){0,3}$(?!\n)",
}
_ATTACHMENT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "oneOf": [{"required": ["text"]}, {"required": ["base64"]}],
    "properties": {
        "name": {**_LINE, "minLength": 1},
        "type": {"type": "string", "pattern": r"^[a-z]{1,20}/[a-z0-9.+-]{1,60}$(?!\n)"},
        "text": _TEXT,
        "base64": {"type": "string"},
    },
}
_FLAGS = {"type": "array", "uniqueItems": True, "items": {"enum": ["seen", "flagged", "answered", "draft"]}}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": dict(properties)}


MESSAGE = _object(
    {
        "id": _ID,
        "from": _MAIL,
        "to": {**_MAILS, "minItems": 1},
        "cc": _MAILS,
        "subject": _SUBJECT,
        "text": _TEXT,
        "date": {
            "type": "string",
            "pattern": r"^[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(Z|[+-][01]\d:[0-5]\d)$(?!\n)",
        },
        "flags": _FLAGS,
        "in_reply_to": _ID,
        "attachments": {"type": "array", "items": _ATTACHMENT},
    },
    *("from", "to", "subject", "text", "date"),
)
_LETTER = _object(
    {
        "id": _LINE,
        "to": _MAILS,
        "cc": _MAILS,
        "bcc": _MAILS,
        "subject": _LINE,
        "text": _TEXT,
        "in_reply_to": _LINE,
        "attachment": _LINE,
    }
)
_WHERE = _object(
    {
        "folder": _LINE,
        "id": _LINE,
        "subject": _LINE,
        "sent": {"type": "boolean"},
        "number": {"type": "integer", "minimum": 0},
    }
)
MUTATIONS = {
    "oneOf": [
        _object({"put": _LETTER, "folder": FOLDER}, "put", "folder"),
        _object({"send": _LETTER}, "send"),
        _object({"where": _WHERE, "remove": {"const": True}}, "where", "remove"),
        _object({"where": _WHERE, "move_to": FOLDER}, "where", "move_to"),
        _object({"where": _WHERE, "copy_to": FOLDER}, "where", "copy_to"),
        _object({"where": _WHERE, "flags": {"type": "string", "pattern": "^[DFRST]*$"}}, "where", "flags"),
        _object({"where": _WHERE, "resend": _LETTER}, "where", "resend"),
        _object({"remove_folder": FOLDER}, "remove_folder"),
    ]
}
