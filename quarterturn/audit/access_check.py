"""Check of the access log: its hash chain, and the heads of it that the public log commits to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vault.store.access_log import Head
from vault.store.tasks import Vault


@dataclass(frozen=True, slots=True)
class CheckedAccessLog:
    """An access log that holds.

    Attributes:
        entries: how many it has.
        heads: how often the public log commits to it.
        covered: how many entries are under the last of these heads.
        last: where that head is, or None.
    """

    entries: int
    heads: int
    covered: int
    last: str | None


def verify(vault: Vault, heads: Sequence[Head]) -> CheckedAccessLog:
    """Check every entry, and every head that the public log commits to (`rotation.turn.access_log_head`).

    Raises:
        Broken: an entry was changed, left out, moved or cut off, or the log was made anew.
    """
    count = vault.verify_access_log(heads=heads)
    return CheckedAccessLog(count, len(heads), heads[-1].entries if heads else 0, heads[-1].where if heads else None)
