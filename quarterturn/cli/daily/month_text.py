"""Text of the turn verbs: the next turn as it is planned, and the turns and cohorts that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.month.turn_preview import PlannedTurn
from rotation.month.store import Turn
from rotation.turn.turn_facts import STEPS, spot_check_lines

REVIEWS = {
    "unknown": "review: {} has runs with a verdict left unknown: {}",
    "unclear": "review: {} has runs with failures of unclear cause (the agent's or ours): {}",
}


def planned_row(planned: PlannedTurn) -> dict[str, Any]:
    """Return the next turn as plain JSON values."""
    if planned.begun:
        return {"month": str(planned.month), "done": list(planned.begun.done), "left": _left(planned)}
    return {
        "month": str(planned.month),
        "retire": planned.plan.retire.id if planned.plan and planned.plan.retire else None,
        "enter": _entering(planned),
    }


def planned_lines(planned: PlannedTurn) -> Iterator[str]:
    """Say what the next turn would do, or what is left of the one that was begun."""
    month, retiring = planned.month, planned.plan and planned.plan.retire
    if planned.begun:
        yield f"The turn of {month} is under way: {', '.join(_left(planned))} are left. `turn run` finishes it."
    else:
        entering = planned.plan and planned.plan.enter
        leaving = "the first" if entering else "no cohort retires, and none enters"
        leaving = f"{retiring.id} retires ({len(retiring.tasks)} tasks)" if retiring else leaving
        yield f"The turn of {month}: {leaving}"
        for retires, count in _entering(planned).items():
            yield f"{count} tasks enter and retire at the turn of {retires}"
    yield from planned.notes


def status_lines(status: Mapping[str, Any], turns: Sequence[Turn]) -> Iterator[str]:
    """Describe the turns, the cohorts, the spot checks and the open reviews."""
    for turn in status["turns"]:
        word = "done" if turn["finished"] else "unfinished"
        yield StatusLine(f"turn {turn['month']}: {word}{'' if turn['finished'] else ': run it again'}", word)
    for c in status["cohorts"]:
        line = f"{c['id']}  {c['state']:<10} {c['tasks']} tasks, retires at the turn of {c['retires']}"
        yield StatusLine(line, c["state"])
    yield from (line for turn in turns for line in spot_check_lines(turn))
    if not (status["turns"] or status["cohorts"]):
        yield "no turn was made yet: `quarterturn turn run`"
    for review in status["reviews"]:
        yield REVIEWS[review["kind"]].format(review["submitter"], ", ".join(map(str, review["runs"])))


def _left(planned: PlannedTurn) -> list[str]:
    return [step for step in STEPS if not planned.begun or step not in planned.begun.done]


def _entering(planned: PlannedTurn) -> dict[str, int]:
    return {str(retires): len(tasks) for retires, tasks in planned.plan.enter.items()} if planned.plan else {}
