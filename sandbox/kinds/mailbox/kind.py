"""State kind of mailboxes: one account, agent@example.org, on Dovecot, and a sink for what is sent.

State: `{"folders": {"INBOX": [{"id": "m1@example.org", "from": "Bob <bob@example.org>", "to": ["agent@example.org"],
"subject": "Plan", "text": "Shall we?", "date": "2026-01-05T10:00:00Z", "flags": ["seen", "flagged"], "attachments":
[{"name": "a.txt", "text": "hi"}, {"name": "b.png", "type": "image/png", "base64": "…"}]}], "Work/Sub": []}}`. A message
without an `id` is called `message-1@example.org`, counted over all. Archive, Drafts, Junk, Sent and Trash are there.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, Backend, StateKind
from sandbox.kinds.mailbox.schema import FOLDER, MESSAGE, MUTATIONS
from verifiers.states.mailbox.writer import NewMessage, maildir
from verifiers.tree import FileTree

ADDRESS = "agent@example.org"
STANDARD = ("Archive", "Drafts", "Junk", "Sent", "Trash")
FLAGS = {"seen": "S", "flagged": "F", "answered": "R", "draft": "D"}

STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "folders": {
            "type": "object",
            "propertyNames": FOLDER,
            "additionalProperties": {"type": "array", "maxItems": 500, "items": MESSAGE},
        }
    },
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the Maildir.

    Raises:
        Malformed: two messages have one id, a date is none, or an attachment's base64 is none.
    """
    folders = dict.fromkeys(STANDARD, ()) | dict(_folders(state.get("folders", {})))
    ids = [letter.id for letters in folders.values() for letter in letters]
    if twice := sorted({identity for identity in ids if ids.count(identity) > 1}):
        raise Malformed(f"the email state has two messages of the id {twice[0]!r}")
    try:
        return maildir(folders)
    except (ValueError, IndexError):
        raise Malformed("the email state has a header with a line break, or half of a surrogate pair, in it") from None


def _folders(made: Mapping[str, Any]) -> Iterator[tuple[str, tuple[NewMessage, ...]]]:
    number = 0
    for folder, documents in made.items():
        letters = []
        for document in documents:
            number += 1
            letters.append(letter_of({"id": f"message-{number}@example.org", **document}))
        yield folder, tuple(letters)


def letter_of(document: Mapping[str, Any]) -> NewMessage:
    """Make a message of what a document says.

    Raises:
        Malformed: its date is none, or an attachment's base64 is none.
    """
    try:
        date = datetime.datetime.fromisoformat(document["date"])
        attachments = [_attachment(attachment) for attachment in document.get("attachments", ())]
    except (ValueError, binascii.Error):
        raise Malformed("the email state has a date or a base64 text that is none") from None
    return NewMessage(
        document["id"],
        document["from"],
        document["to"],
        document["subject"],
        document["text"],
        date=date,
        cc=document.get("cc", ()),
        flags="".join(FLAGS[flag] for flag in document.get("flags", ())),
        in_reply_to=document.get("in_reply_to", ""),
        attachments=attachments,
    )


def _attachment(attachment: Mapping[str, str]) -> tuple[str, str, bytes]:
    content = (
        attachment["text"].encode() if "text" in attachment else base64.b64decode(attachment["base64"], validate=True)
    )
    return attachment["name"], attachment.get("type", "application/octet-stream"), content


MAILBOX = StateKind(
    name="mailbox",
    about="one mail account, kept by IMAP on port 1143, and a sink for what is sent by SMTP on port 1025",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    backend=Backend(
        (f"{PROGRAMS}/python/email/bin/python", "-I", "-S", f"{OUR_KINDS}/mailbox/backend/service.py", "keep"),
        {"PATH": "/usr/sbin:/usr/bin:/bin"},
        needs=("/usr/sbin/dovecot",),
    ),
)
