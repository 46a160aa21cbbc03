"""Spot-check rule: which results are judged again, from a seed that nobody can use before the last result is bound.

    HMAC-SHA256(seed, "quarterturn/spot-check/v1\\n" || root || "\\n<run>/<task id>")

A result is judged again where the first eight bytes, as a big-endian number, are below 2^64 / 20. The seed (32 bytes)
is committed to in the month's `set` statement and opened in its `retire` statement, so that whoever keeps the log
cannot choose it afterwards. The root is the log's up to and with the month's last `score`, so that whoever has seen the
seed cannot know the choice while a result of the month is still to be judged.

An auditor runs this module, so it imports the standard library only.
"""

from __future__ import annotations

from vault.commitment import commitment

LABEL = "spot-check"
"""Of the commitment to the seed, and of what is made with the seed."""
ONE_IN = 20


def is_chosen(seed: bytes, root: bytes, run: int, task: str) -> bool:
    """Say whether a run's result on a task is judged again; `seed` and `root` have 32 bytes each."""
    mark = commitment(LABEL, root + f"\n{run}/{task}".encode(), seed)
    return int.from_bytes(mark[:8], "big") * ONE_IN < 1 << 64
