"""What a server changes by itself: left out of the comparison of two states, each with a reason.

Where the value tells it from an agent's doing, the value is looked at. What a reader does not read (a time of
modification, the place of a message's file, what git remembers of its last operation) needs no entry here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

SECOND_MS = 1000
MAX_RUN_MS = 15 * 60 * 1000
"""Milliseconds that pass between a world's start and the reading of its state, at most; a run ends earlier."""
LOGGED_AHEAD = 32
"""Values of a sequence that PostgreSQL logs before it gives them out (SEQ_LOG_VALS of its sequence.c)."""
MAX_COUNTED = 100
"""Values of a sequence that rows use up, refused and undone ones among them; more than these are used on purpose."""

GENERATED_KEYS: Mapping[str, str] = {"event": "uid", "message": "id", "sent message": "id", "todo": "uid"}
"""Sort of item to the part of its key that the server makes up for a new one: the next time it is another one."""
GENERATED_FIELDS = frozenset({"source"})
"""Fields of such a new item that the server makes up too: the bytes of a message have its date in them."""


def is_sqlites_own(table: str) -> bool:
    """Say whether SQLite keeps a table for itself, of which no statement of an agent is the cause.

    No statement makes a table of such a name (SQLite, "Database File Format", section 2.6). The keys that
    `sqlite_sequence` counts and what ANALYZE measured (`sqlite_stat1`) are told by value.
    """
    return table.lower().startswith("sqlite_")


def is_the_forges_own(ref: str) -> bool:
    """Say whether a forge keeps a ref for itself: the head of a pull request, set whenever somebody looks at it.

    No tool writes below `refs/pull/`, and the pull request says where its head is.
    """
    return ref.startswith("refs/pull/")


def is_for_copies(folder: str) -> bool:
    """Say whether the mail server keeps a copy of each message that it sends in a folder."""
    return folder == "Sent"


def _has_run_down(before: Any, after: Any) -> bool:
    """Say whether a key has less time left than before, by no more than passes while a task is played.

    A task gives a time in seconds: what is left of it differs by some milliseconds from one run to the next.
    """
    return type(before) is type(after) is int and -SECOND_MS < before - after <= MAX_RUN_MS


def _has_counted_on(before: Any, after: Any) -> bool:
    """Say whether a sequence gave out some more values: no rollback takes them back.

    Each is how far it counted, and the highest value that a row has. PostgreSQL logs values ahead, and of a sequence
    that was set none. One that is set to the highest value goes on behind the rows that somebody numbered.
    """
    if before[0] == after[0]:
        return True
    (last, logged), (now, logged_now) = _last_and_logged(before[0]), _last_and_logged(after[0])
    is_set = logged_now == 0 and (logged - (now - last)) % (LOGGED_AHEAD + 1) != 0 and now != after[1]
    return not str(after[0]).startswith("starts") and 0 <= now - last <= MAX_COUNTED and not is_set


def _last_and_logged(counted: Any) -> tuple[int, int]:
    """Take `41, 30 logged` or `starts at 1` apart; older documents have the last value alone."""
    if not isinstance(counted, str):
        return counted or 0, LOGGED_AHEAD
    last, _, logged = counted.partition(", ")
    return (int(last), int(logged.split()[0])) if logged else (int(last.rpartition(" ")[2]) - 1, 0)


def _has_given_out_keys(before: Any, after: Any) -> bool:
    """Say whether a table gave out some more keys, for rows that are there or that were refused or deleted again.

    Each is the last key that was given out, null for none, and the highest one that a row has.
    """
    if not all(type(number) in {int, type(None)} for number in (*before, *after)):
        return False
    last, now, highest = before[0] or 0, after[0] or 0, after[1] or 0
    return now >= last and now - max(last, highest) <= MAX_COUNTED


def _has_measured(before: Any, after: Any) -> bool:
    """Say whether ANALYZE can have measured what is there of a table: it counts rows, and how many have an equal key.

    Each is the number of rows now and `[[index or null, numbers]]`. It ran at any time, so any number of rows between.
    """
    least, most = sorted((before[0], after[0]))
    if any(index not in [other for other, _ in after[1]] for index, _ in before[1]):
        return False
    for index, text in (pair for pair in after[1] if pair not in before[1]):
        if not isinstance(text, str) or not re.fullmatch(r"\d{1,9}( \d{1,9})*", text):
            return False
        numbers = [*map(int, text.split()), 1]
        # an index may have a condition, and so fewer rows
        if not (1 if index else least) <= numbers[0] <= most or numbers != sorted(numbers, reverse=True):
            return False
    return True


def _is_the_same_branch(before: Any, after: Any) -> bool:
    """Say whether an end of a pull request is the branch that it was.

    Its commit is where the branch was when somebody last looked, and where the branch is now the refs say.
    """
    return type(before) is type(after) is dict and {**before, "sha": ""} == {**after, "sha": ""}


def _is_another_time(before: Any, after: Any) -> bool:
    """Say whether something was done both times, only not at the same moment of the server's clock."""
    return type(before) is type(after) is str


_BY_VALUE: Mapping[tuple[str, str], Callable[[Any, Any], bool]] = {
    ("key", "expires"): _has_run_down,
    ("sequence", "last"): _has_counted_on,
    ("table", "keys"): _has_given_out_keys,
    ("table", "statistics"): _has_measured,
    ("pull request", "base"): _is_the_same_branch,
    ("pull request", "head"): _is_the_same_branch,
    ("pull request", "merged_at"): _is_another_time,
}
"""Sort of item and field to what says whether the server itself has changed the value so."""


def is_server_change(sort: str, field: str, before: Any, after: Any) -> bool:
    """Say whether a server changes this field of an item from one value to the other without anybody's doing."""
    return (rule := _BY_VALUE.get((sort, field))) is not None and rule(before, after)
