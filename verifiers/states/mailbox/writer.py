"""Writer of messages and Maildirs, which the mail reader reads back; the same mail gives the same bytes."""

from __future__ import annotations

import datetime
import email.policy
import email.utils
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage

from verifiers.states.mailbox.messages import BOX, INBOX, OUTBOX
from verifiers.tree import DIRECTORY, FileTree, tree_of

VALIDITY = 1_700_000_000  # UIDVALIDITY of every folder (RFC 3501, 2.3.1.1)
BOUNDARY = "=_part"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """Content of a message to write.

    Attributes:
        id: its Message-ID without brackets.
        sender: From, with or without a name; `to` and `cc` likewise.
        date: when it was written; an instant.
        flags: letters of a Maildir's file name.
        attachments: name, MIME type and content of each.
        bcc: who else it was handed over for, of one that was sent.
    """

    id: str
    sender: str
    to: Sequence[str]
    subject: str = field(repr=False)
    text: str = field(repr=False)
    date: datetime.datetime = datetime.datetime(2026, 1, 5, 9, tzinfo=datetime.UTC)
    cc: Sequence[str] = ()
    bcc: Sequence[str] = ()
    flags: str = ""
    in_reply_to: str = ""
    attachments: Sequence[tuple[str, str, bytes]] = field(default=(), repr=False)


def written(letter: NewMessage) -> bytes:
    """Encode a message.

    Raises:
        ValueError: a header has a line break in it, or a text is half of a surrogate pair.
    """
    message = EmailMessage(policy=email.policy.default.clone(max_line_length=200))
    message["From"], message["To"] = letter.sender, ", ".join(letter.to)
    if letter.cc:
        message["Cc"] = ", ".join(letter.cc)
    message["Subject"] = letter.subject
    message["Date"] = email.utils.format_datetime(letter.date)
    message["Message-ID"] = f"<{letter.id}>"
    if letter.in_reply_to:
        message["In-Reply-To"] = message["References"] = f"<{letter.in_reply_to}>"
    message.set_content(letter.text)
    for name, kind, content in letter.attachments:
        main, _, sub = kind.partition("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    if letter.attachments:
        message.set_boundary(BOUNDARY)
    return message.as_bytes()


def maildir(folders: Mapping[str, Sequence[NewMessage]], sent: Sequence[NewMessage] = ()) -> FileTree:
    """Return the folder of the mail server: each mail folder with its messages, in order, and the sent messages."""
    files: dict[str, str | bytes] = {}
    made = {folder: place_of(folder) for folder in (INBOX, *folders)}
    empty = [f"{place}/{part}" for place in (*made.values(), OUTBOX) for part in ("cur", "new", "tmp")]
    number = 0
    for folder, place in made.items():
        names = []
        for letter in folders.get(folder, ()):
            number += 1
            data = written(letter)
            names.append(f"{int(letter.date.timestamp())}.seed{number:05}.world,S={len(data)}")
            files[f"{place}/cur/{names[-1]}:2,{''.join(sorted(letter.flags))}"] = data
        files[f"{place}/dovecot-uidlist"] = _uids(names)
        if folder != INBOX:
            files[f"{place}/maildirfolder"] = b""
    for order, letter in enumerate(sent, 1):
        files[f"{OUTBOX}/new/{order}"] = envelope(letter) + written(letter)
    return FileTree({**dict.fromkeys(empty, DIRECTORY), **tree_of(files)})


def place_of(folder: str) -> str:
    """Turn `Work/Sub` into the path of its Maildir."""
    return BOX if folder == INBOX else f"{BOX}/.{folder.replace('/', '.')}"


def _uids(names: Sequence[str]) -> str:
    """Write the UID list of a folder in the format of Dovecot."""
    lines = "".join(f"{uid} :{name}\n" for uid, name in enumerate(names, 1))
    return f"3 V{VALIDITY} N{len(names) + 1} G{VALIDITY:032x}\n{lines}"


def envelope(letter: NewMessage) -> bytes:
    """Write the envelope that the SMTP sink puts above a message: sender and recipients."""
    sender = email.utils.parseaddr(letter.sender)[1]
    recipients = email.utils.getaddresses([*letter.to, *letter.cc, *letter.bcc])
    return "".join(
        [f"Return-Path: <{sender}>\n", *(f"Delivered-To: {recipient}\n" for _, recipient in recipients)]
    ).encode()
