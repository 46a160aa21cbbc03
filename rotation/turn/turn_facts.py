"""What the row of a turn says of itself: its steps, and its spot check; without the code that makes a turn."""

from __future__ import annotations

import json
from typing import Any

from rotation.month.store import Turn

STEPS = ("stop", "close", "check", "retire", "publish", "commit", "set", "sign", "activate")
"""The steps of a turn, in order."""
SPOT_CHECK, SPOT_CHECK_DETAIL = "spot_check", "spot_check_more"
"""The facts of a turn that hold the spot check: the entry of the `retire` statement, and what maintainers see of it."""

_REPLAYS = {
    "differs": "lead to another state than the runner handed in (look at that runner)",
    "not-comparable": "nothing can be said: two replays differ likewise (times, random ids), or a call was cut off",
    "not-played": "could not be played again on this machine",
}


def spot_check(turn: Turn) -> dict[str, Any] | None:
    """Return the spot check's entry for the `retire` statement; None if no seed was committed to."""
    return json.loads(turn.facts[SPOT_CHECK]) if SPOT_CHECK in turn.facts else None


def spot_check_lines(turn: Turn) -> list[str]:
    """Return the spot check's result as lines of text, for maintainers only; empty if there is none yet."""
    if SPOT_CHECK not in turn.facts:
        return []
    facts, more = json.loads(turn.facts[SPOT_CHECK]), json.loads(turn.facts[SPOT_CHECK_DETAIL])
    by_first = f" ({more['here']} of them by the process that judged at first)" if more["here"] else ""
    lines = [f"spot check of {turn.month}: {facts['judged']} of {facts['chosen']} chosen results judged again"
             f"{by_first}, {facts['differed']} came out otherwise"]  # fmt: skip
    if more["differed"]:
        lines.append(f"  otherwise: {', '.join(more['differed'])}: look at the workers that played these runs")
    if more["stateless"]:
        lines.append(f"  passed, and could not be judged again: {', '.join(more['stateless'])}")
    replays: dict[str, list[str]] = more.get("replays", {})  # an earlier version replayed nothing
    if count := sum(map(len, replays.values())):
        lines.append(f"  transcripts from runners: {count} chosen, {len(replays['same'])} lead to the same state")
    lines += [f"  {text}: {', '.join(names)}" for outcome, text in _REPLAYS.items() if (names := replays.get(outcome))]
    return lines
