"""Spoiling a mailbox for admission's mutants: messages are put, removed, moved and flagged, and so is what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.errors import Malformed
from sandbox.servers.check import check
from verifiers.errors import VerifierError
from verifiers.states.mailbox.messages import INBOX, OUTBOX, Message
from verifiers.states.mailbox.reader import mail_of
from verifiers.states.mailbox.writer import Letter, envelope, place_of, written
from verifiers.views import DIRECTORY, Node, Tree

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
ADDRESS = "agent@example.org"


def mutate(tree: Tree, change: Mapping[str, Any]) -> Tree:
    """Give a copy after one change; what is picked out is every message that is as `where` says.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or picks out nothing.
    """
    check(MUTATIONS, change, "the email change")
    try:
        mail = mail_of(tree)
    except VerifierError as error:
        raise Malformed(f"the email change needs mail that can be read: {error}") from None
    if "put" in change:
        return _filed(tree, change["folder"], written(_letter(change["put"])))
    if "send" in change:
        return _sent(tree, _letter(change["send"]), len(mail.sent) + 1)
    if "remove_folder" in change:
        return _without_folder(tree, change["remove_folder"])
    picked = [message for message in (*mail.kept, *mail.sent) if _is_picked(message, change["where"], mail.sent)]
    if not picked:
        raise Malformed("the email change picks out what is not in the final state")
    for message in picked:
        tree = _changed(tree, message, change)
    return tree


def _changed(tree: Tree, message: Message, change: Mapping[str, Any]) -> Tree:
    node = tree[message.path]
    rest = tree if "copy_to" in change else Tree({path: one for path, one in tree.items() if path != message.path})
    if "remove" in change:
        return rest
    if "flags" in change:
        name = message.path.partition(":2,")[0].replace("/new/", "/cur/")
        return Tree({**rest, f"{name}:2,{change['flags']}": node})
    if "resend" in change:
        said = {"id": message.id, "to": message.to, "cc": message.cc, "subject": message.subject, "text": message.text}
        said |= {"bcc": [one for one in message.recipients if one not in {*message.to, *message.cc}]}
        said |= {"in_reply_to": message.refers[0]} if message.refers else {}
        letter = replace(_letter({**said, **change["resend"]}))
        files = [(name, "application/octet-stream", data) for name, data in message.attachments]
        letter = letter if letter.attachments else replace(letter, attachments=files)
        return Tree({**rest, message.path: Node("file", data=envelope(letter) + written(letter))})
    return _filed(rest, change.get("move_to", change.get("copy_to")), node.data)


def _letter(document: Mapping[str, Any]) -> Letter:
    attached = document.get("attachment")
    return Letter(
        document.get("id", "added@example.org"),
        f"Agent <{ADDRESS}>",
        document.get("to", [ADDRESS]),
        document.get("subject", "Not this"),
        document.get("text", "Not this."),
        cc=document.get("cc", ()),
        bcc=document.get("bcc", ()),
        in_reply_to=document.get("in_reply_to", ""),
        attachments=[(attached, "text/plain", b"not this")] if attached else (),
    )


def _filed(tree: Tree, folder: str, data: bytes) -> Tree:
    place = place_of(folder)
    parts = {f"{place}/{part}": DIRECTORY for part in ("cur", "new", "tmp")}
    return Tree(
        {place: DIRECTORY, **parts, **tree, f"{place}/cur/1.added{len(tree)}.world:2,S": Node("file", data=data)}
    )


def _sent(tree: Tree, letter: Letter, number: int) -> Tree:
    data = envelope(letter) + written(letter)
    return Tree({**tree, f"{OUTBOX}/new/{number}": Node("file", data=data)})


def _without_folder(tree: Tree, folder: str) -> Tree:
    place = place_of(folder)
    if folder == INBOX or place not in tree:
        raise Malformed(f"the email change names the folder {folder!r}, which is not in the final state")
    return Tree({path: node for path, node in tree.items() if path != place and not path.startswith(f"{place}/")})


def _is_picked(message: Message, where: Mapping[str, Any], sent: tuple[Message, ...]) -> bool:
    there = {"folder": message.folder, "id": message.id, "subject": message.subject, "sent": not message.folder}
    there["number"] = sent.index(message) if message in sent else -1
    return all(there[name] == value for name, value in where.items())
