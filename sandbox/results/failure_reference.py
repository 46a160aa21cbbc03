"""Generator of the reference page of failures: `python -m sandbox.results.failure_reference`."""

from __future__ import annotations

import sys

from sandbox.results.failure import PREPARATIONS, RETRIES, STOPS, TABLE, UNSERVED

HEAD = """# What a failure costs, and whom

This page is written by `python -m sandbox.results.failure_reference`; a test fails where the two differ. Why it is so
stands in [ADR 58](../adr/0058-no-outcome-is-better-than-a-fail.md).

**No outcome is better than a fail.** What an agent could have brought about is a fail. What was served is served again
only for a cause of a closed list that no agent can bring about, and a run has few of these, whoever plays it.

## One attempt at one task

The first row that holds decides, from facts that no agent can write: the engine's events, exit codes, our own timers,
and how far our own steps came.

| what happened | served | whose | code |
|---|---|---|---|
"""

MEANINGS = {
    "ours": f"The closed list. The task is served again; a run has {RETRIES} of these, all tasks and workers together. "
    f"What was not served yet is made ready again, {PREPARATIONS} times in all. Beyond that the verdict is *unknown*.",
    "theirs": "A fail.",
    "unclear": "Nobody can say. A fail, and counted.",
    "check": "Each server that the agent called is woken in a fresh world of its own and frozen, without any call and "
    "while no agent of the run is at work. Where that breaks, or does not end in time, the machinery is broken: "
    "*ours*. Else it is *unclear*.",
    None: "The machinery held. The predicate's word counts.",
}

MIDDLE = """
## A run that stops before each task has a result

Each result stays. Whoever resumes the run judges what was sealed and waits for its verdict, and plays what was not
served yet. When the month turns, or its owner takes it back, the run is closed with what it has.

| what stopped it | code | what was being played | what is unserved at the end |
|---|---|---|---|
"""

TAIL = f"""
- **Served again** means: as far as the {RETRIES} servings of the run go; then it is a fail.
- **Unknown** counts as failed in every figure and in both ends of its interval; a run with an unknown is not ranked.
- A worker that cannot write down why it stopped, because the database stays away, counts as one that died.
- Where what was submitted is gone, or is another by now, when a run is gone on with, that is its owner's affair: a
  cause of the closed list that stopped the run before counts no more.
- A party's first run of a track and month that was served a task is the one that counts, however it ends. Another one
  can be named to come first until one has begun.
- A submission is refunded only where its run was served nothing.
- Each serving is an exposure, and kept with the result. Two runs of one submitter with an unknown left, or with
  something unclear, open a review (`quarterturn turn status` names it); a review takes nothing from anybody.
"""


def page() -> str:
    """Write the page."""
    attempts = [
        f"| {row.says} | {'no' if row.ruling.code in UNSERVED else 'yes'} | {row.ruling.blame or 'nobody'} "
        f"| `{row.ruling.code}` |"
        for row in TABLE
    ]
    meanings = [f"- **{blame or 'nobody'}**: {meaning}" for blame, meaning in MEANINGS.items()]
    stops = [
        f"| {stop.says} | `{code}` | {'served again' if stop.closed_list else 'a fail'} "
        f"| {'unknown' if stop.closed_list else 'a fail'} |"
        for code, stop in STOPS.items()
    ]
    return HEAD + "\n".join([*attempts, "", *meanings]) + "\n" + MIDDLE + "\n".join(stops) + "\n" + TAIL


if __name__ == "__main__":
    sys.stdout.write(page())
