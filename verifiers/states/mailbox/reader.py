"""Reads the mail that a world was left with: what Dovecot keeps in its Maildir, and what was sent.

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

from verifiers.errors import Spoiled
from verifiers.normal import NormalState
from verifiers.states.budget import Budget
from verifiers.states.mailbox.messages import BOX, INBOX, OUTBOX, Mail, Message, folder_of, state_of
from verifiers.views import Tree

MAX_MESSAGES = 2000
MAX_BYTES = 4 << 20
MAX_HEADER = 32 << 10
MAX_PARTS = 100


def read_mail(tree: Tree, budget: Budget) -> NormalState:
    """Read everything.

    Raises:
        Spoiled: see `mail_of`.
    """
    return state_of(mail_of(tree, budget))


def mail_of(tree: Tree, budget: Budget | None = None) -> Mail:
    """Read a folder.

    Raises:
        Spoiled: there is more than anybody keeps or the budget has, or a message that is none.
    """
    budget = budget or Budget()
    budget.step(len(tree))
    places = list(_places(tree))
    if len(places) > MAX_MESSAGES:
        raise Spoiled(f"there are more than {MAX_MESSAGES} messages")
    messages = [_message(path, folder, tree[path].data, budget) for path, folder in places]
    folders = {INBOX, *(folder_of(name) for name in tree.children(BOX) if name.startswith(".") and len(name) > 1)}
    kept = tuple(message for message in messages if message.folder)
    sent = sorted((message for message in messages if not message.folder), key=lambda one: (len(one.path), one.path))
    return Mail(tuple(sorted(folders)), kept, tuple(sent))


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


def _message(path: str, folder: str, data: bytes, budget: Budget) -> Message:
    budget.step(100)
    budget.parse(len(data))
    budget.keep(len(data))
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
