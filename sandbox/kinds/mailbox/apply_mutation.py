"""Applies a mutation to a mailbox: messages are added, removed, moved and flagged, also sent ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.mailbox.schema import MUTATIONS
from verifiers.errors import VerifierError
from verifiers.states.mailbox.messages import INBOX, OUTBOX, MailMessage
from verifiers.states.mailbox.reader import mail_of
from verifiers.states.mailbox.writer import NewMessage, envelope, place_of, written
from verifiers.tree import DIRECTORY, FileTree, Node

ADDRESS = "agent@example.org"


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change; what is picked out is every message that is as `where` says.

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
        raise Malformed("the email change matches nothing in the final state")
    for message in picked:
        tree = _changed(tree, message, change)
    return tree


def _changed(tree: FileTree, message: MailMessage, change: Mapping[str, Any]) -> FileTree:
    node = tree[message.path]
    rest = (
        tree if "copy_to" in change else FileTree({path: other for path, other in tree.items() if path != message.path})
    )
    if "remove" in change:
        return rest
    if "flags" in change:
        name = message.path.partition(":2,")[0].replace("/new/", "/cur/")
        return FileTree({**rest, f"{name}:2,{change['flags']}": node})
    if "resend" in change:
        fields = {
            "id": message.id,
            "to": message.to,
            "cc": message.cc,
            "subject": message.subject,
            "text": message.text,
        }
        fields |= {
            "bcc": [recipient for recipient in message.recipients if recipient not in {*message.to, *message.cc}]
        }
        fields |= {"in_reply_to": message.refers[0]} if message.refers else {}
        letter = replace(_letter({**fields, **change["resend"]}))
        files = [(name, "application/octet-stream", data) for name, data in message.attachments]
        letter = letter if letter.attachments else replace(letter, attachments=files)
        return FileTree({**rest, message.path: Node("file", data=envelope(letter) + written(letter))})
    return _filed(rest, change.get("move_to", change.get("copy_to")), node.data)


def _letter(document: Mapping[str, Any]) -> NewMessage:
    attached = document.get("attachment")
    return NewMessage(
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


def _filed(tree: FileTree, folder: str, data: bytes) -> FileTree:
    place = place_of(folder)
    parts = {f"{place}/{part}": DIRECTORY for part in ("cur", "new", "tmp")}
    return FileTree(
        {place: DIRECTORY, **parts, **tree, f"{place}/cur/1.added{len(tree)}.world:2,S": Node("file", data=data)}
    )


def _sent(tree: FileTree, letter: NewMessage, number: int) -> FileTree:
    data = envelope(letter) + written(letter)
    return FileTree({**tree, f"{OUTBOX}/new/{number}": Node("file", data=data)})


def _without_folder(tree: FileTree, folder: str) -> FileTree:
    place = place_of(folder)
    if folder == INBOX or place not in tree:
        raise Malformed(f"the email change names the folder {folder!r}, which is not in the final state")
    return FileTree({path: node for path, node in tree.items() if path != place and not path.startswith(f"{place}/")})


def _is_picked(message: MailMessage, where: Mapping[str, Any], sent: tuple[MailMessage, ...]) -> bool:
    properties = {"folder": message.folder, "id": message.id, "subject": message.subject, "sent": not message.folder}
    properties["number"] = sent.index(message) if message in sent else -1
    return all(properties[name] == value for name, value in where.items())
