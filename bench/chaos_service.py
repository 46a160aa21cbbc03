"""Service of the chaos bench: `quarterturn serve` with one command in the place of every image, and shorter waits.

    python bench/chaos_service.py COMMAND serve --home HOME …

The waits are those before somebody else goes on with what a silent process had: nothing else differs from the program.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

from quarterturn.cli import main
from quarterturn.runners import remote_player
from quarterturn.runs import jobs
from quarterturn.submissions.store import queue
from sandbox.runs import submission

LEASE_SECONDS = 9.0


def shorten_waits() -> None:
    """Let leases expire, and runs close, after seconds; a lost host is waited for as long as an outage may take."""
    queue.LEASE = timedelta(seconds=LEASE_SECONDS)
    queue.RENEWAL_SECONDS, queue.MAX_SIGHT_GAP = LEASE_SECONDS / 3, queue.LEASE / 2
    queue.CLOSING_GRID_SECONDS = 0.001
    jobs.REAP_SECONDS = 1.0
    remote_player.OUTAGE_SECONDS = remote_player.PREPARATION_SECONDS = 40.0


def play_command(line: str) -> None:
    """Play a command wherever an image was submitted: the bwrap box has no images."""

    def image(_: str, *, submitter: str, **__: Any) -> submission.Submission:
        return submission.command(line, submitter=submitter)

    setattr(submission, "image", image)  # noqa: B010 - mypy refuses to assign to a function


if __name__ == "__main__":
    shorten_waits()
    play_command(sys.argv.pop(1))
    main()
