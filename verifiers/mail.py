"""The mail that a world was left with: what Dovecot keeps in its Maildir, and what was sent.

    Maildir/{cur,new}, Maildir/.Work.Sub/{cur,new}   the folders INBOX and Work/Sub
    outbox/new                                       what was sent, each below its envelope

Messages are parsed with the standard library's `email`, and capped: how many there are, their bytes, their headers'
bytes and their parts. Nothing in a message is fetched or run. One that cannot be parsed counts against whoever left it.
Flags are the letters of a Maildir's file names (`S` read, `F` flagged, `R` answered, `D` draft, `T` deleted).
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.message
import email.policy
import email.utils
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from verifiers.context import Context
from verifiers.errors import Spoiled
from verifiers.views import Tree

BOX, OUTBOX, INBOX = "Maildir", "outbox", "INBOX"
MAX_MESSAGES = 2000
MAX_BYTES = 4 << 20
MAX_HEADER = 32 << 10
MAX_PARTS = 100


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        path: its file.
        folder: `INBOX` or `Work/Sub`; "" for one that was sent.
        flags: its letters.
        id: its Message-ID without brackets.
        refers: the Message-IDs that it answers, in In-Reply-To and References.
        sender: the address that it is from; addresses are in small letters.
        to: the addresses in To; `cc` those in Cc.
        recipients: whom it was handed over for, of one that was sent.
        text: its text, of the first part that is plain, or else of the first that is HTML, as it stands.
        attachments: name and content of each.
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


@dataclass(frozen=True, slots=True)
class Mail:
    """Everything: the folders that there are, what is in them, and what was sent, in that order."""

    folders: tuple[str, ...]
    kept: tuple[Message, ...]
    sent: tuple[Message, ...]


def open_mail(context: Context) -> Mail:
    """Give the mail of a state, once an evaluation.

    Raises:
        Spoiled: there is more than anybody keeps, or a message that is none.
        Unreadable: there is no state.
    """
    return context.once("email", lambda: mail_of(context.tree("email")))


def mail_of(tree: Tree) -> Mail:
    """Read a folder.

    Raises:
        Spoiled: see `open_mail`.
    """
    places = list(_places(tree))
    if len(places) > MAX_MESSAGES:
        raise Spoiled(f"there are more than {MAX_MESSAGES} messages")
    messages = [_message(path, folder, tree[path].data) for path, folder in places]
    folders = {INBOX, *(folder_of(name) for name in tree.children(BOX) if name.startswith(".") and len(name) > 1)}
    kept = tuple(message for message in messages if message.folder)
    sent = sorted((message for message in messages if not message.folder), key=lambda one: (len(one.path), one.path))
    return Mail(tuple(sorted(folders)), kept, tuple(sent))


def folder_of(name: str) -> str:
    """Turn `.Work.Sub` into `Work/Sub`."""
    return name[1:].replace(".", "/")


def _places(tree: Tree) -> Iterator[tuple[str, str]]:
    """Give the path of each message, and its folder."""
    for path, node in tree.items():
        match path.split("/"):
            case [top, "new", _] if top == OUTBOX:
                folder = ""
            case [top, "cur" | "new", _] if top == BOX:
                folder = INBOX
            case [top, name, "cur" | "new", _] if top == BOX and name.startswith("."):
                folder = folder_of(name)
            case _:
                continue
        if node.kind != "file" or len(node.data) > MAX_BYTES:
            raise Spoiled(f"there is a message that is no file, or longer than {MAX_BYTES} bytes")
        yield path, folder


def _message(path: str, folder: str, data: bytes) -> Message:
    head = data.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    if len(head) > MAX_HEADER:
        raise Spoiled(f"there is a message whose headers are longer than {MAX_HEADER} bytes")
    try:
        parsed = email.message_from_bytes(data, policy=email.policy.compat32)
        parts = list(_parts(parsed))
        letters = path.rpartition("/")[2].partition(":2,")[2]
        texts = [part for part in parts if not _is_attached(part)]
        return Message(
            path,
            folder,
            frozenset(letters),
            _text(parsed["Message-ID"]).strip().strip("<>"),
            tuple(
                " ".join(map(_text, (parsed["In-Reply-To"], parsed["References"])))
                .replace("<", "")
                .replace(">", "")
                .split()
            ),
            next(iter(_addresses(parsed, "From")), ""),
            _addresses(parsed, "To"),
            _addresses(parsed, "Cc"),
            _addresses(parsed, "Delivered-To"),
            _text(parsed["Subject"]),
            _said(texts),
            tuple((_text(part.get_filename()), _content(part)) for part in parts if _is_attached(part)),
        )
    except (email.errors.MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Spoiled(f"there is a message that cannot be parsed ({type(error).__name__})") from None


def _parts(message: email.message.Message) -> Iterator[email.message.Message]:
    """Give the parts that have content; what is in an attached message is part of that one."""
    waiting = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        inside = part.get_payload()
        if isinstance(inside, list) and not _is_attached(part):
            waiting[:0] = [one for one in inside if isinstance(one, email.message.Message)]
        else:
            yield part
    if waiting:
        raise Spoiled(f"there is a message of more than {MAX_PARTS} parts")


def _is_attached(part: email.message.Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _content(part: email.message.Message) -> bytes:
    data = part.get_payload(decode=True)
    return (
        data
        if isinstance(data, bytes)
        else b"".join(one.as_bytes() for one in part.get_payload() if not isinstance(one, str))
    )


def _said(texts: Sequence[email.message.Message]) -> str:
    for kind in ("text/plain", "text/html"):
        for part in texts:
            if part.get_content_type() == kind:
                charset = part.get_content_charset("utf-8")
                return _decoded(_content(part), charset).replace("\r\n", "\n")
    return ""


def _decoded(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _text(header: object) -> str:
    """Give a header's text, with its encoded words decoded and on one line."""
    if header is None:
        return ""
    words = email.header.decode_header(str(header))
    try:
        text = str(email.header.make_header(words))
    except (LookupError, UnicodeError):  # a character set that is none
        text = " ".join(word if isinstance(word, str) else word.decode("utf-8", "replace") for word, _ in words)
    return " ".join(text.split())


def _addresses(message: email.message.Message, name: str) -> tuple[str, ...]:
    found = email.utils.getaddresses([str(value) for value in message.get_all(name, ())])
    return tuple(address.lower() for _, address in found if address)
