"""Reader of mail: the Maildir that Dovecot keeps, and the outbox of sent messages.

    Maildir/{cur,new}, Maildir/.Work.Sub/{cur,new}   the folders INBOX and Work/Sub
    outbox/new                                       what was sent, each below its envelope

Messages are parsed with the standard library's `email`. Input that it would parse in more than linear time is capped
first: headers, parts within parts, lines below each boundary, comments in addresses; and a text is decoded only from
the character sets that mail is written in. Nothing in a message is fetched or run. A message that cannot be parsed
counts against the agent, and is named.
Flags are the letters of a Maildir's file names (`S` read, `F` flagged, `R` answered, `D` draft, `T` deleted).
"""

from __future__ import annotations

import codecs
import email
import email.errors
import email.generator
import email.header
import email.message
import email.parser
import email.policy
import email.utils
import encodings
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from encodings.aliases import aliases

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.mailbox.messages import BOX, INBOX, OUTBOX, MailMessage, MailState, folder_of, state_of
from verifiers.tree import FileTree, Node

MAX_MESSAGES = 2000
MAX_BYTES = 4 << 20
MAX_HEADER = 32 << 10
MAX_PARTS = 100
MAX_NESTED = 100
"""Parts and messages within each other, counted as often as the words for them are there."""
MAX_CONTENT = 4096
"""Bytes of a Content- header, which the parser takes apart in a time that grows with their square."""
MAX_COMMENTS = 50
MAX_WORDS = 500
"""Encoded words of a header."""
A_MESSAGE, A_HEADER, A_CONTENT = 300, 4, 14  # steps
A_LOOK = 250
"""Bytes times bytes of a Content- header that are a step."""
COVERED_HEADERS = {
    *("from", "to", "cc", "delivered-to", "subject", "message-id", "in-reply-to", "references", "mime-version"),
    *("return-path", "received", "date", "user-agent", "x-mailer"),
}
"""Headers, in small letters, that another field has, or that say which program wrote a message, and when."""
LOOKS = 4
"""Times that a message's bytes are gone through: split, unpacked, decoded, written down."""

_CONTENT = re.compile(
    rb"(?:^|[\r\n])content-[a-z-]*+[ \t]*+:[^\r\n]*+(?:(?:\r\n|\r|\n)[ \t][^\r\n]*+)*+", re.IGNORECASE
)
_BLANKS = re.compile(r"(?<![ \t])[ \t]++(?=\r?\n)")
_NESTED = re.compile(rb"multipart/|message/", re.IGNORECASE)
_CODECS = {
    codecs.lookup(name).name  # now, because reading opens no file
    for name in (
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "us-ascii", "koi8-r", "koi8-u", "tis-620", "mac-roman"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "shift-jis", "euc-jp", "euc-kr", "iso-2022-jp"),
        *("iso-2022-kr", "cp874", "cp932", "cp949", *(f"cp125{number}" for number in range(9))),
        *(f"iso-8859-{number}" for number in (*range(1, 12), *range(13, 17))),
    )
}
codecs.lookup("raw-unicode-escape")  # in which a header is taken apart
_MODULES = {encodings.normalize_encoding(name) for name in _CODECS}
_MODULES |= {aliases[name] for name in _MODULES if name in aliases}
_CHARSETS = _MODULES | {alias for alias, module in aliases.items() if module in _MODULES}


_ENCODED = r"=\?[^?\s]{1,100}\?[bqBQ]\?[^?\s]*+\?="
_ENCODED_RUN = re.compile(rf"({_ENCODED}(?:\s++{_ENCODED})*+)")


class _InUtf8(email.policy.Compat32):
    """The parser's policy, with headers that are in UTF-8 without being encoded (RFC 6532)."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 - the policy's own signature
        return value.encode("ascii", "surrogateescape").decode("utf-8", "replace")


def read_mail(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read all mail into the normal form.

    Raises:
        CorruptState: see `mail_of`.
    """
    unreadable: list[list[str]] = []
    mail = mail_of(tree, budget, unreadable)
    return state_of(replace(mail, unreadable=tuple(map(tuple, unreadable))))


def mail_of(
    tree: FileTree, budget: ReadingBudget | None = None, unreadable: list[list[str]] | None = None
) -> MailState:
    """Read a mail folder tree.

    `unreadable` takes path, reason and digest of each message that is invalid.

    Raises:
        CorruptState: there is more than the caps or the budget allow, or an invalid message that nobody takes.
    """
    budget = budget or ReadingBudget()
    budget.step(len(tree))
    places = list(_places(tree))
    if len(places) > MAX_MESSAGES:
        raise CorruptState(f"there are more than {MAX_MESSAGES} messages")
    messages: list[MailMessage] = []
    for path, folder in places:
        try:
            messages.append(_message(path, folder, tree[path], budget))
        except BudgetSpent:
            raise
        except CorruptState as error:
            if unreadable is None:
                raise
            unreadable.append([path, str(error), hashlib.sha256(tree[path].data).hexdigest()])
    folders = {INBOX, *(folder_of(name) for name in tree.children(BOX) if name.startswith(".") and len(name) > 1)}
    kept = tuple(message for message in messages if message.folder)
    sent = sorted(
        (message for message in messages if not message.folder), key=lambda message: (len(message.path), message.path)
    )
    return MailState(tuple(sorted(folders)), kept, tuple(sent))


def _places(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Yield the path of each message, and its folder."""
    for path, _ in tree.items():
        match path.split("/"):
            case [top, "new", _] if top == OUTBOX:
                folder = ""
            case [top, "cur" | "new", _] if top == BOX:
                folder = INBOX
            case [top, name, "cur" | "new", _] if top == BOX and name.startswith("."):
                folder = folder_of(name)
            case _:
                continue
        yield path, folder


def _message(path: str, folder: str, node: Node, budget: ReadingBudget) -> MailMessage:
    data = node.data
    if node.kind != "file" or len(data) > MAX_BYTES:
        raise CorruptState(f"there is a message that is no file, or longer than {MAX_BYTES} bytes")
    _must_be_bounded(data, budget)
    head = data.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    budget.step(A_HEADER * (head.count(b"\n") + head.count(b"\r")))
    if len(head) > MAX_HEADER:
        raise CorruptState(f"there is a message whose headers are longer than {MAX_HEADER} bytes")
    try:
        parsed = email.message_from_bytes(data, policy=_InUtf8())
        parts = list(_parts(parsed))
        letters = path.rpartition("/")[2].partition(":2,")[2]
        texts = _list_texts(parsed) or [text for part in parts for text in _list_texts(part)][:1]
        return MailMessage(
            path,
            folder,
            frozenset(letters),
            _text(parsed["Message-ID"], budget).strip().strip("<>"),
            tuple(
                " ".join(_text(parsed[name], budget) for name in ("In-Reply-To", "References"))
                .replace("<", "")
                .replace(">", "")
                .split()
            ),
            next(iter(_addresses(parsed, "From", budget)), ""),
            _addresses(parsed, "To", budget),
            _addresses(parsed, "Cc", budget),
            _addresses(parsed, "Delivered-To", budget),
            _text(parsed["Subject"], budget),
            _join_texts(texts),
            tuple((_text(_file_name(part), budget), _content(part)) for part in parts if _is_attached(part)),
            (
                *(f"{name}: {_text(value, budget)}" for name, value in parsed.items() if not _is_covered(name)),
                *(f"unknown character set: {name}" for name in map(_charset, texts) if not _is_known(name)),
            ),
            hashlib.sha256(data).hexdigest(),
        )
    except (email.errors.MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptState(f"there is a message that cannot be parsed ({type(error).__name__})") from None


def _is_covered(header: str) -> bool:
    return header.lower() in COVERED_HEADERS or header.lower().startswith("content-")


def _must_be_bounded(data: bytes, budget: ReadingBudget) -> None:
    """Charge the budget for parsing a message, and refuse one that would cost more than linear time.

    Raises:
        CorruptState: it is more than a message has, or than the budget.
    """
    budget.step(A_MESSAGE)
    budget.parse(LOOKS * len(data))
    budget.keep(2 * len(data))
    boundaries = data.lower().count(b"boundary")
    budget.step((data.count(b"\n") + data.count(b"\r")) * (1 + boundaries + (A_HEADER if boundaries else 0)))
    if len(_NESTED.findall(data)) > MAX_NESTED:
        raise CorruptState(f"there is a message of more than {MAX_NESTED} parts within parts")
    sizes = [match.end() - match.start() for match in _CONTENT.finditer(data)]
    budget.step(sum(A_CONTENT + size * size // A_LOOK for size in sizes))
    if max(sizes, default=0) > MAX_CONTENT:
        raise CorruptState(f"there is a message with a header about its content of more than {MAX_CONTENT} bytes")


def _parts(message: email.message.Message) -> Iterator[email.message.Message]:
    """List the parts that have content; those of an attached message belong to that message."""
    waiting = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        inside = part.get_payload()
        if isinstance(inside, list) and not _is_attached(part):
            waiting[:0] = [child for child in inside if isinstance(child, email.message.Message)]
        else:
            yield part
    if waiting:
        raise CorruptState(f"there is a message of more than {MAX_PARTS} parts")


def _is_attached(part: email.message.Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_file_name(part))


def _file_name(part: email.message.Message) -> str:
    """Return the name of an attached file (RFC 2231); the library would look its character set up in a file."""
    name = part.get_param("filename", None, "content-disposition") or part.get_param("name", "")
    if not isinstance(name, tuple):
        return str(name)
    return _decoded(email.utils.unquote(name[2]).encode("raw-unicode-escape"), name[0] or "utf-8")


def _charset(part: email.message.Message) -> str:
    charset = part.get_param("charset", "utf-8")
    return charset[2] if isinstance(charset, tuple) else str(charset)


def _content(part: email.message.Message) -> bytes:
    if str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "quoted-printable" and isinstance(
        text := part.get_payload(), str
    ):  # blanks at a line's end were added on the way (RFC 2045, 6.7)
        part.set_payload(_BLANKS.sub("", text))
    data = part.get_payload(decode=True)
    return (
        data
        if isinstance(data, bytes)
        else b"".join(child.as_bytes() for child in part.get_payload() if not isinstance(child, str))
    )


def _list_texts(part: email.message.Message) -> list[email.message.Message]:
    """List the texts that a reader sees one below the other: of alternatives the plain one, or else the first."""
    inside = part.get_payload()
    if _is_attached(part) or part.get_content_maintype() == "message":
        return []
    if not isinstance(inside, list):
        return [part] if part.get_content_type() in {"text/plain", "text/html"} else []
    shown = [_list_texts(child) for child in inside if isinstance(child, email.message.Message)]
    if part.get_content_subtype() != "alternative":
        return [text for texts in shown for text in texts]
    plain = (texts for texts in shown if any(text.get_content_type() == "text/plain" for text in texts))
    return next(plain, next(filter(None, shown), []))


def _join_texts(texts: Sequence[email.message.Message]) -> str:
    said = [_decoded(_content(part), _charset(part)).replace("\r\n", "\n") for part in texts]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in said[:-1]) + "".join(said[-1:])


def _decoded(data: bytes, charset: str) -> str:
    """Decode a text; an unknown character set is read as UTF-8."""
    return data.decode(charset if _is_known(charset) else "utf-8", "replace")


def _text(header: object, budget: ReadingBudget) -> str:
    """Return a header's text, with its encoded words decoded and on one line."""
    if header is None:
        return ""
    budget.step(len(str(header)) // 2)
    if str(header).count("=?") > MAX_WORDS:
        raise CorruptState(f"there is a message with a header of more than {MAX_WORDS} encoded words")
    if not str(header).isascii():  # then the library takes what is between encoded words for bytes of no character set
        parts = _ENCODED_RUN.split(str(header))
        return " ".join("".join(_plain(part) if at % 2 else part for at, part in enumerate(parts)).split())
    return " ".join(_plain(str(header)).split())


def _plain(header: str) -> str:
    """Decode the encoded words of a header, or of a run of them."""
    words = email.header.decode_header(header)
    try:
        text = str(email.header.make_header(words)) if all(map(_is_known, _charsets(words))) else None
    except (LookupError, UnicodeError):  # a character set that is none
        text = None
    if text is None:
        text = " ".join(word if isinstance(word, str) else word.decode("utf-8", "replace") for word, _ in words)
    return text


def _charsets(words: Sequence[tuple[object, str | None]]) -> Iterator[str]:
    return (charset for _, charset in words if charset not in {None, "unknown-8bit"})


def _is_known(charset: str) -> bool:
    return encodings.normalize_encoding(charset.lower()) in _CHARSETS


def _addresses(message: email.message.Message, name: str, budget: ReadingBudget) -> tuple[str, ...]:
    values = [str(value) for value in message.get_all(name, ())]
    budget.step(3 * sum(map(len, values)))
    if sum(value.count("(") for value in values) > MAX_COMMENTS:
        raise CorruptState(f"there is a message with more than {MAX_COMMENTS} comments in its addresses")
    addresses = email.utils.getaddresses(values)
    return tuple(address.lower() for _, address in addresses if address)
