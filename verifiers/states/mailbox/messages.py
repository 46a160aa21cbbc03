"""Normal form of mail: folders, kept messages and sent messages.

It is `{"folders": [name], "kept": [message], "sent": [message]}`, where a message is the list of what `MailMessage`
has, its flags as one text, and its attachments as `[name, blob]`. `unreadable` has `[path, reason, digest]` of each
message that cannot be parsed, if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from verifiers.normal_form import NormalState
from verifiers.predicates.context import Context

BOX, OUTBOX, INBOX = "Maildir", "outbox", "INBOX"


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A parsed mail message.

    Attributes:
        path: its file.
        folder: `INBOX` or `Work/Sub`; "" for one that was sent.
        flags: its letters.
        id: its Message-ID without brackets.
        refers: the Message-IDs that it answers, in In-Reply-To and References.
        sender: the address that it is from; addresses are in small letters.
        to: the addresses in To; `cc` those in Cc.
        recipients: whom it was handed over for, of one that was sent.
        text: its texts that are shown one below the other; of alternatives the plain one; HTML as it stands.
        attachments: name and content of each.
        headers: those that no other field tells of (`Reply-To: a@b.example`), but for the ones that each server adds;
            and which unknown character set a text was in, that is read as UTF-8.
        source: the SHA-256 of its bytes, which no server changes as long as it keeps a message.
    """

    path: str
    folder: str
    flags: frozenset[str]
    id: str
    refers: tuple[str, ...]
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    recipients: tuple[str, ...]
    subject: str = field(repr=False)
    text: str = field(repr=False)
    attachments: tuple[tuple[str, bytes], ...] = field(repr=False)
    headers: tuple[str, ...] = field(default=(), repr=False)
    source: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MailState:
    """All mail of a state: the folders, the messages in them, the sent ones, and those that cannot be parsed."""

    folders: tuple[str, ...]
    kept: tuple[MailMessage, ...]
    sent: tuple[MailMessage, ...]
    unreadable: tuple[tuple[str, ...], ...] = ()


def open_mail(context: Context) -> MailState:
    """Return the mail of a state, built once for each evaluation.

    Raises:
        CorruptState: there is more than the caps allow, or an invalid message.
        StateUnavailable: there is no state.
    """
    return context.once("email", lambda: mail_from(context.state("email")))


def state_of(mail: MailState) -> NormalState:
    """Return the normal form of some mail."""
    blobs: list[bytes] = []

    def plain(message: MailMessage) -> list[Any]:
        files = []
        for name, data in message.attachments:
            files.append([name, len(blobs)])
            blobs.append(data)
        values = {name: getattr(message, name) for name in _NAMES}
        values |= {"flags": "".join(sorted(message.flags)), "attachments": files}
        return [list(value) if isinstance(value, tuple) else value for value in values.values()]

    kept, sent = [plain(message) for message in mail.kept], [plain(message) for message in mail.sent]
    unreadable = {"unreadable": [list(entry) for entry in mail.unreadable]} if mail.unreadable else {}
    return NormalState({"folders": list(mail.folders), "kept": kept, "sent": sent, **unreadable}, tuple(blobs))


def mail_from(state: NormalState) -> MailState:
    """Build the mail from a normal form."""

    def message(plain: list[Any]) -> MailMessage:
        values = [tuple(value) if isinstance(value, list) else value for value in plain]
        made: dict[str, Any] = dict(zip(_NAMES, values, strict=True))
        files = tuple((name, state.blobs[blob]) for name, blob in made["attachments"])
        return MailMessage(**{**made, "flags": frozenset(made["flags"]), "attachments": files})

    document = state.document
    kept, sent = (tuple(map(message, document[part])) for part in ("kept", "sent"))
    return MailState(tuple(document["folders"]), kept, sent, tuple(map(tuple, document.get("unreadable", ()))))


_NAMES = [field.name for field in fields(MailMessage)]


def folder_of(name: str) -> str:
    """Turn `.Work.Sub` into `Work/Sub`."""
    return name[1:].replace(".", "/")
