"""Predicates over the mail that the email server left, and over what it sent.

A folder is named as over IMAP: `INBOX`, `Work/Sub`. A message is named by its Message-ID without brackets. What was
sent is named by what it is like: the predicate holds if one sent message is all that is asked for. Addresses are
compared without their names and in any case, and lists of them as sets. Subjects are exact but for white space; texts
are compared without white space at their ends, and line breaks of either kind are the same. A text is a message's plain
part, or its HTML where it has no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.mailbox.examples import mailbox
from verifiers.states.mailbox.messages import MailMessage, MailState, open_mail
from verifiers.states.mailbox.writer import NewMessage
from verifiers.texts import decoded, place_of

ID = {"type": "string", "minLength": 3, "maxLength": 250, "description": "Message-ID without brackets"}
FOLDER = {"type": "string", "minLength": 1, "maxLength": 200, "description": "folder, as `Work/Sub`"}
ADDRESS = {"type": "string", "minLength": 3, "maxLength": 250}
ADDRESSES = names(ADDRESS)
PART = {"type": "string", "minLength": 1}
A_MESSAGE, LETTERS = 20, 512  # steps for a message, and letters for a step
LIKE = {"to": ADDRESSES, "cc": ADDRESSES, "bcc": ADDRESSES, "subject": TEXT, "contains": PART, "attachment": PART}

BOB, AGENT, CAROL = "Bob <bob@example.org>", "Agent <agent@example.org>", "carol@example.org"
PLAN = NewMessage(
    "m1@example.org", BOB, [AGENT], "Plan", "Shall we?\n", flags="SF", attachments=[("a.txt", "text/plain", b"hi")]
)
NEWS = NewMessage("m2@example.org", BOB, [AGENT], "News", "Nothing new.\n")
REPLY = NewMessage(
    "s1@example.org",
    AGENT,
    [BOB],
    "Re: Plan",
    "Yes, at 10.\n",
    cc=[CAROL],
    bcc=["dan@example.org"],
    in_reply_to="m1@example.org",
)
DRAFT = NewMessage("d1@example.org", AGENT, [CAROL], "Offer", "We offer 5.\n", flags="D")
LATE = NewMessage("m1@example.org", BOB, [AGENT], "Plan", "Shall we not?\n")
WRONG = NewMessage("s1@example.org", AGENT, [CAROL], "Re: News", "No.\n")
FULL = partial(mailbox, {"INBOX": [PLAN], "Work/Sub": [NEWS], "Drafts": [DRAFT]}, [REPLY])
OTHER = partial(mailbox, {"INBOX": [LATE, NEWS], "Drafts": []}, [WRONG, WRONG])
QUIET = partial(mailbox, {"INBOX": [PLAN]})


@predicate(
    "email.messageSent",
    words="a message was sent to {to}",
    takes={"to": {**ADDRESSES, "minItems": 1}},
    may_take={key: schema for key, schema in LIKE.items() if key != "to"},
    produces=("contains",),
    example=Example({"to": ["bob@example.org"], "subject": "Re: Plan", "contains": "at 10"}, FULL, OTHER),
)
def message_sent(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    to: Sequence[str],
    cc: Sequence[str] | None = None,
    bcc: Sequence[str] | None = None,
    subject: str | None = None,
    contains: str | None = None,
    attachment: str | None = None,
) -> ProbeResult:
    """One message was sent to these and nobody else in To; whatever else is given is so of the same message.

    Those in `bcc` were handed over and are named nowhere in the message. `attachment` is the name of a file in it.
    """
    sent = _mail(context).sent
    fitting = _sent_like(
        context, sent, to=to, cc=cc, bcc=bcc, subject=subject, contains=contains, attachment=attachment
    )
    return ProbeResult(bool(fitting), _sent(sent))


@predicate(
    "email.replySent",
    words="the message {message} was answered",
    takes={"message": ID},
    may_take={"to": ADDRESSES, "contains": PART},
    produces=("contains",),
    example=Example({"message": "m1@example.org", "to": ["bob@example.org"], "contains": "Yes"}, FULL, OTHER),
)
def reply_sent(
    context: Context, message: str, to: Sequence[str] | None = None, contains: str | None = None
) -> ProbeResult:
    """A message was sent that refers to this one, in In-Reply-To or References."""
    sent = _mail(context).sent
    answers = [mail for mail in sent if message in mail.refers]
    return ProbeResult(bool(_sent_like(context, answers, to=to, contains=contains)), _sent(sent))


@predicate(
    "email.sentCount",
    words="{count} messages were sent",
    takes={"count": COUNT},
    may_take={"recipient": ADDRESS, "subject": TEXT},
    produces=NOTHING,
    example=Example({"count": 1, "recipient": "dan@example.org"}, FULL, OTHER),
)
def sent_count(context: Context, count: int, recipient: str | None = None, subject: str | None = None) -> ProbeResult:
    """This many messages were sent, or this many for the recipient (in To, Cc or Bcc) and of the subject."""
    sent = _mail(context).sent
    fitting = _sent_like(context, sent, recipient=recipient, subject=subject)
    return ProbeResult(len(fitting) == count, _sent(sent))


@predicate(
    "email.nothingSent",
    words="nothing was sent",
    takes={},
    may_take={"recipient": ADDRESS},
    produces=NOTHING,
    example=Example({}, QUIET, FULL),
)
def nothing_sent(context: Context, recipient: str | None = None) -> ProbeResult:
    """No message was sent, or none for the recipient."""
    sent = _mail(context).sent
    return ProbeResult(not _sent_like(context, sent, recipient=recipient), _sent(sent))


@predicate(
    "email.messageInFolder",
    words="the message {message} is in the folder {folder}",
    takes={"message": ID, "folder": FOLDER},
    may_take={"nowhere_else": FLAG},
    produces=NOTHING,
    example=Example({"message": "m2@example.org", "folder": "Work/Sub", "nowhere_else": True}, FULL, OTHER),
)
def message_in_folder(context: Context, message: str, folder: str, *, nowhere_else: bool = False) -> ProbeResult:
    """The message is in the folder; with `nowhere_else` it was moved there and not copied."""
    folders = sorted(mail.folder for mail in _mail(context).kept if mail.id == message)
    holds = set(folders) == {folder} if nowhere_else else folder in folders
    return ProbeResult(holds, f"it is in {listed(folders)}")


@predicate(
    "email.messageAbsent",
    words="the message {message} is not there",
    takes={"message": ID},
    may_take={"folder": FOLDER},
    produces=NOTHING,
    example=Example({"message": "m2@example.org", "folder": "INBOX"}, FULL, OTHER),
)
def message_absent(context: Context, message: str, folder: str | None = None) -> ProbeResult:
    """No folder has the message, or the one that is named has not."""
    folders = sorted(mail.folder for mail in _mail(context).kept if mail.id == message)
    return ProbeResult(not folders if folder is None else folder not in folders, f"it is in {listed(folders)}")


@predicate(
    "email.countInFolder",
    words="there are {count} messages in the folder {folder}",
    takes={"folder": FOLDER, "count": COUNT},
    may_take={"sender": ADDRESS, "unread": FLAG},
    produces=NOTHING,
    example=Example({"folder": "INBOX", "count": 1, "sender": "bob@example.org", "unread": False}, FULL, OTHER),
)
def count_in_folder(
    context: Context, folder: str, count: int, sender: str | None = None, *, unread: bool | None = None
) -> ProbeResult:
    """The folder is there and has this many messages, or this many from the sender, read or not."""
    mail = _mail(context)
    _must_be(folder, mail.folders)
    matching = [
        message
        for message in mail.kept
        if message.folder == folder
        and (sender is None or message.sender == sender.lower())
        and unread in {None, "S" not in message.flags}
    ]
    return ProbeResult(
        len(matching) == count, f"there are {len(matching)}: {listed([message.subject for message in matching])}"
    )


@predicate(
    "email.folderExists",
    words="there is a folder {folder}",
    takes={"folder": FOLDER},
    produces=NOTHING,
    example=Example({"folder": "Work/Sub"}, FULL, OTHER),
)
def folder_exists(context: Context, folder: str) -> ProbeResult:
    """There is a folder of this name, empty or not."""
    folders = _mail(context).folders
    return ProbeResult(folder in folders, f"the folders are {listed(folders)}")


@predicate(
    "email.isRead",
    words="it is {read} that the message {message} is read",
    takes={"message": ID, "read": FLAG},
    produces=NOTHING,
    example=Example({"message": "m1@example.org", "read": True}, FULL, OTHER),
)
def is_read(context: Context, message: str, read: bool) -> ProbeResult:  # noqa: FBT001 - as documents give it
    """The message is marked as read, or is not; every copy of it."""
    return _flagged(context, message, "S", present=read)


@predicate(
    "email.isFlagged",
    words="it is {flagged} that the message {message} is flagged",
    takes={"message": ID, "flagged": FLAG},
    produces=NOTHING,
    example=Example({"message": "m1@example.org", "flagged": True}, FULL, OTHER),
)
def is_flagged(context: Context, message: str, flagged: bool) -> ProbeResult:  # noqa: FBT001 - as documents give it
    """The message is flagged, or is not; every copy of it."""
    return _flagged(context, message, "F", present=flagged)


@predicate(
    "email.draftSaved",
    words="a draft {subject} lies in Drafts",
    takes={"subject": TEXT},
    may_take={"to": ADDRESSES, "contains": PART},
    produces=("contains",),
    example=Example({"subject": "Offer", "to": ["carol@example.org"], "contains": "offer 5"}, FULL, OTHER),
)
def draft_saved(
    context: Context, subject: str, to: Sequence[str] | None = None, contains: str | None = None
) -> ProbeResult:
    """The folder Drafts has a message of this subject, to these where they are given, with this text in it."""
    drafts = [mail for mail in _mail(context).kept if mail.folder == "Drafts"]
    observation = f"the drafts are {listed([mail.subject for mail in drafts])}"
    return ProbeResult(bool(_sent_like(context, drafts, to=to, subject=subject, contains=contains)), observation)


@predicate(
    "email.attachmentExists",
    words="a message that was sent to {recipient} has the file {name}",
    takes={"recipient": ADDRESS, "name": PART},
    may_take={"text": TEXT},
    produces=("text",),
    example=Example(
        {"recipient": "carol@example.org", "name": "a.txt", "text": "hi"},
        partial(mailbox, {}, [NewMessage("s2@example.org", AGENT, [CAROL], "File", "", attachments=PLAN.attachments)]),
        OTHER,
    ),
)
def attachment_exists(context: Context, recipient: str, name: str, text: str | None = None) -> ProbeResult:
    """A message was sent to the recipient with a file of this name, and this text in it where that is given."""
    sent = _mail(context).sent
    files = [file for mail in _sent_like(context, sent, recipient=recipient) for file in mail.attachments]
    wanted = None if text is None else _trimmed(text)
    fits = any(
        file == name and (wanted is None or wanted == _trimmed(decoded(data, context.budget))) for file, data in files
    )
    return ProbeResult(fits, f"the files are {listed([file for file, _ in files])}")


@predicate(
    "email.bodyContains",
    words="the message {message} has {text} in it",
    takes={"message": ID, "text": PART},
    produces=NOTHING,  # an agent cannot change a message that it names
    example=Example({"message": "m1@example.org", "text": "Shall we?"}, FULL, OTHER),
)
def body_contains(context: Context, message: str, text: str) -> ProbeResult:
    """The message is in some folder, and has this text in its own, in this case."""
    copies = _copies(context, message)
    part = _trimmed(text)
    return ProbeResult(
        any(place_of(part, mail.text, context.budget) >= 0 for mail in copies), f"it says {quoted(copies[0].text)}"
    )


def _mail(context: Context) -> MailState:
    """Return the mail, and charge the budget for reading every message and its text.

    Raises:
        CorruptState: a message cannot be read.
    """
    mail = open_mail(context)
    if mail.unreadable:
        path, reason, _ = mail.unreadable[0]
        raise CorruptState(f"the message {path} cannot be read: {reason}")
    letters = context.once("email letters", lambda: sum(map(_letters, (*mail.kept, *mail.sent))))
    context.budget.step(A_MESSAGE * (len(mail.kept) + len(mail.sent)) + letters // LETTERS)
    return mail


def _letters(message: MailMessage) -> int:
    return len(message.text) + sum(len(data) for _, data in message.attachments)


def _copies(context: Context, message: str) -> list[MailMessage]:
    mail = _mail(context)
    copies = [candidate for candidate in mail.kept if candidate.id == message]
    if not copies:
        raise TargetMissing(f"no folder has the message; there are {listed([candidate.id for candidate in mail.kept])}")
    return copies


def _flagged(context: Context, message: str, letter: str, *, present: bool) -> ProbeResult:
    flags = [mail.flags for mail in _copies(context, message)]
    holds = all((letter in flag_set) == present for flag_set in flags)
    return ProbeResult(holds, f"its flags are {listed([''.join(sorted(flag_set)) for flag_set in flags])}")


def _must_be(folder: str, folders: Sequence[str]) -> None:
    if folder not in folders:
        raise TargetMissing(f"there is no folder {quoted(folder)}; the folders are {listed(folders)}")


def _sent_like(
    context: Context,
    messages: Iterable[MailMessage],
    *,
    to: Sequence[str] | None = None,
    cc: Sequence[str] | None = None,
    bcc: Sequence[str] | None = None,
    recipient: str | None = None,
    subject: str | None = None,
    contains: str | None = None,
    attachment: str | None = None,
) -> list[MailMessage]:
    """Return the sent messages that match all the given arguments."""
    part = None if contains is None else _trimmed(contains)
    return [
        mail
        for mail in messages
        if _same(to, mail.to)
        and _same(cc, mail.cc)
        and _same(bcc, set(mail.recipients) - {*mail.to, *mail.cc})
        and (recipient is None or recipient.lower() in mail.recipients)
        and (subject is None or " ".join(subject.split()) == mail.subject)
        and (part is None or place_of(part, mail.text, context.budget) >= 0)
        and (attachment is None or attachment in [name for name, _ in mail.attachments])
    ]


def _same(wanted: Sequence[str] | None, actual: Iterable[str]) -> bool:
    return wanted is None or {address.lower() for address in wanted} == set(actual)


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _sent(messages: Sequence[MailMessage]) -> str:
    summaries = [f"{mail.subject} to {' '.join(mail.recipients)}" for mail in messages]
    return f"sent were {listed(summaries)}"
