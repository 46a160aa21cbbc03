"""The reference page of failures, written from the table: `python -m sandbox.failure_reference`."""

from __future__ import annotations

import sys

from sandbox.failure import AGAIN, DOUBTS, IDLE, RETRIES, TABLE

HEAD = """# Ours or theirs

This page is written by `python -m sandbox.failure_reference`; a test fails where the two differ. Why it is so stands in
[ADR 18](../adr/0018-failures-that-nobody-can-settle.md).

The first row that holds decides, from facts that no agent can write: the engine's events, exit codes, our own timers,
and how far our own steps came.

| what happened | whose | code |
|---|---|---|
"""

MEANINGS = {
    "ours": f"No agent can bring it about. The task is played again, at most {RETRIES} times.",
    "theirs": "A fail.",
    "replay": "Calls can bring it about. The calls that a server saw are played again, at their pace, in a fresh world "
    "with no agent; the next table says what follows.",
    "uncalled": "It broke before any call; but only the gateway says so, and an agent talks to that. It is replayed "
    "without any call: the same servers are woken in a fresh world and it is frozen.",
    "late": "Calls can bring it about, and so can a slow machine. It is replayed as well; where the replay is only "
    "late too, the same servers are woken in a fresh world and it is frozen, with no call and the same patience; the "
    "last table says what follows.",
    "unclear": f"Nobody can say. It is played again too, but a whole run has {DOUBTS} such retries.",
    None: "The machinery held. The predicate's word counts.",
}

REPLAYS = {
    "replay": "breaks after a call of its own",
    "late": "is only late, after a call of its own",
    "uncalled": "breaks before any call",
    "ours": "cannot be made",
    "unclear": "loses what no call touches",
    "theirs": "does not end in time",
    None: "holds",
}

IDLES = {True: "is in time", False: "is late too, or breaks"}

TAIL = """
Each time that a task is played again is an exposure, and is kept with the result. Where the retries are used up the
verdict is *unknown*, and a run with an unknown left is not ranked. Two runs of one submitter with an unknown left, or
with something unclear, open a review (`quarterturn turn status` names it); a review takes nothing from anybody.
"""


def page() -> str:
    """Write the page."""
    rows = [f"| {row.says} | {row.ruling.blame or 'nobody'} | `{row.ruling.code}` |" for row in TABLE]
    meanings = [f"- **{blame or 'nobody'}**: {meaning}" for blame, meaning in MEANINGS.items()]
    replays = [f"| {REPLAYS[blame]} | {ruling} |" for blame, ruling in AGAIN.items()]
    again = ["| the replay | whose |", "|---|---|", *replays]
    idle = ["| the world without calls | whose |", "|---|---|", *(f"| {IDLES[held]} | {IDLE[held]} |" for held in IDLE)]
    return HEAD + "\n".join([*rows, "", *meanings, "", *again, "", *idle]) + "\n" + TAIL


if __name__ == "__main__":
    sys.stdout.write(page())
