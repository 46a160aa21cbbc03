"""Example mailboxes for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifiers.states.mailbox.writer import Letter, maildir
from verifiers.tree import Views


def mailbox(folders: Mapping[str, Sequence[Letter]], sent: Sequence[Letter] = ()) -> Views:
    """Give the views of a world whose email server holds and sent these messages."""
    return Views({"email": maildir(folders, sent)})
