"""Proposed mutations of mailboxes: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sandbox.kinds.common.texts import wrong
from verifiers.errors import CorruptState
from verifiers.states.mailbox.messages import MailMessage, MailState
from verifiers.states.mailbox.reader import mail_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]

STRANGER = "stranger@example.org"
ELSEWHERE = "Not this"  # a folder that no task asks for
FORWARDED = "---------- Forwarded message ----------"


def _resent(**wrong_parts: Any) -> Callable[[Mapping[str, Any]], Change]:
    """Change everything that was sent."""
    return lambda _: {"where": {"sent": True}, "resend": wrong_parts}


def _one_more_sent(arguments: Mapping[str, Any]) -> Change:
    letter = {"to": [arguments.get("recipient", STRANGER)]}
    return {"send": letter | ({"subject": arguments["subject"]} if "subject" in arguments else {})}


def _removed(arguments: Mapping[str, Any]) -> Change:
    return {"where": {"id": arguments["message"]}, "remove": True}


def _flags(letter: str, argument: str) -> Callable[[Mapping[str, Any]], Change]:
    def change(arguments: Mapping[str, Any]) -> Change:
        return {"where": {"id": arguments["message"]}, "flags": "" if arguments[argument] else letter}

    return change


def _one_more_kept(arguments: Mapping[str, Any]) -> Change:
    """Empty the folder where there should be something; one that should be empty gets a message."""
    if arguments["count"]:
        return {"where": {"folder": arguments["folder"]}, "remove": True}
    return {"put": {"id": "not-this@example.org"}, "folder": arguments["folder"]}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "email.attachmentExists": lambda _: {"where": {"sent": True}, "resend": {"attachment": "not-this.txt"}},
    "email.bodyContains": _removed,
    "email.countInFolder": _one_more_kept,
    "email.draftSaved": lambda _: {"where": {"folder": "Drafts"}, "remove": True},
    "email.folderExists": lambda arguments: {"remove_folder": arguments["folder"]},
    "email.isFlagged": _flags("F", "flagged"),
    "email.isRead": _flags("S", "read"),
    "email.messageAbsent": lambda arguments: {
        "put": {"id": arguments["message"]},
        "folder": arguments.get("folder", ELSEWHERE),
    },
    "email.messageInFolder": lambda arguments: {"where": {"id": arguments["message"]}, "move_to": ELSEWHERE},
    "email.messageSent": _resent(to=[STRANGER]),
    "email.nothingSent": _one_more_sent,
    "email.replySent": _resent(in_reply_to="not-this@example.org"),
    "email.sentCount": _one_more_sent,
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations of what the right solution sent, and of what it moved, marked or kept."""
    old, new = _mail(before), _mail(after)
    for number, message in enumerate(new.sent):
        yield from _in_sent(number, message)
    if new.sent:
        yield "sent-twice", {"send": _letter(new.sent[0])}
    was = {(mail.id, mail.folder): mail for mail in old.kept}
    now = {(mail.id, mail.folder): mail for mail in new.kept}
    for (name, folder), message in now.items():
        yield from _in_kept(name, folder, message, was.get((name, folder)), old)
    for name, folder in was.keys() - now.keys():
        if copies := [at for identity, at in now if identity == name]:
            yield f"copied-and-not-moved {name}", {"where": {"id": name, "folder": copies[0]}, "copy_to": folder}
    untouched = [mail for key, mail in now.items() if was.get(key) and was[key].flags == mail.flags]
    if untouched and (new.sent or was.keys() != now.keys()):
        yield (
            f"another-one-lost {untouched[0].id}",
            {"where": {"id": untouched[0].id, "folder": untouched[0].folder}, "remove": True},
        )


def _in_sent(number: int, message: MailMessage) -> Iterator[tuple[str, Change]]:
    where = {"sent": True, "number": number}
    yield f"not-sent {number}", {"where": where, "remove": True}
    yield f"wrong-recipient {number}", {"where": where, "resend": {"to": [STRANGER]}}
    yield f"another-recipient-too {number}", {"where": where, "resend": {"to": [*message.to, STRANGER]}}
    for name, text in wrong(message.subject):
        yield f"{name} subject {number}", {"where": where, "resend": {"subject": text}}
    written, rest = _own_text(message.text)
    for name, text in wrong(written):
        yield f"{name} text {number}", {"where": where, "resend": {"text": text + rest}}
    if message.refers:
        yield f"no-reply {number}", {"where": where, "resend": {"in_reply_to": ""}}
    if message.cc:
        yield f"cc-left-out {number}", {"where": where, "resend": {"cc": []}}
    if message.attachments:
        yield f"wrong-file {number}", {"where": where, "resend": {"attachment": "not-this.txt"}}


def _own_text(text: str) -> tuple[str, str]:
    """Return what somebody wrote, and the forwarded message below it, which the server wrote."""
    written = text.partition(FORWARDED)[0].rstrip() if FORWARDED in text else text
    return written, text[len(written) :]


def _in_kept(
    name: str, folder: str, message: MailMessage, was: MailMessage | None, old: MailState
) -> Iterator[tuple[str, Change]]:
    where = {"id": name, "folder": folder}
    origin: Sequence[str] = [mail.folder for mail in old.kept if mail.id == name]
    if was is None and origin:
        yield f"left-out {name}", {"where": where, "move_to": origin[0]}
    elif was is None and folder == "Drafts":
        yield f"left-out {name}", {"where": where, "remove": True}
        yield f"wrong-place {name}", {"where": where, "move_to": "INBOX"}
    elif was is not None and was.flags != message.flags:
        yield f"left-out flags {name}", {"where": where, "flags": "".join(sorted(was.flags & set("DFRST")))}


def _letter(message: MailMessage) -> dict[str, Any]:
    return {"to": list(message.to), "cc": list(message.cc), "subject": message.subject, "text": message.text}


def _mail(tree: FileTree) -> MailState:
    try:
        return mail_of(tree)
    except CorruptState:
        return MailState((), (), ())
