"""Example mailboxes for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifiers.states.mailbox.writer import NewMessage, maildir
from verifiers.tree import JudgeInput


def mailbox(folders: Mapping[str, Sequence[NewMessage]], sent: Sequence[NewMessage] = ()) -> JudgeInput:
    """Return the views of a world whose email server holds and sent these messages."""
    return JudgeInput({"email": maildir(folders, sent)})
