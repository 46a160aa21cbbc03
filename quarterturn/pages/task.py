"""Pages of a public task and of a leaf of the log: what it asked for, what was committed to, and where. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.pages.drawing.formatting import legible
from quarterturn.pages.leaderboard import agent_address
from quarterturn.pages.templates import render
from verifiers.language import predicate

MAX_STATE_CHARACTERS = 6000
"""Of a starting state, of which the JSON has all."""

Item = Mapping[str, Any]


def page(found: Item, released: str | None, passes: Item | None = None, lines: Sequence[Item] = ()) -> str:
    """Draw the page of a task.

    Args:
        found: as `GET /tasks/{id}` gives it: `id`, `set`, `sha256`, `task`, and `opening` where it was released.
        released: the address of the page of its release, or None for a task of the dev set.
        passes: how many runs were `served` it, and the numbers of those that `passed`; None where nobody counted.
        lines: the lines of all leaderboards, the newest month first.
    """
    task, opening = found["task"], found["opening"] or {}
    state = _written(task["initial_state"])
    solutions = (opening.get("provenance") or {}).get("solutions", ())
    return render(
        "task.html.jinja",
        here="/rotation" if released else "/",
        task=task,
        set=found["set"],
        released=released,
        counts=[
            *((name.capitalize(), task[name]) for name in ("server", "category", "difficulty")),
            *([("Language", task["language"])] if "language" in task else []),
            ("Calls allowed", str(task["max_steps"])),
        ],
        success=predicate.in_words(predicate.parse(task["success_predicate"])),
        state=state[:MAX_STATE_CHARACTERS],
        cut=len(state) > MAX_STATE_CHARACTERS,
        free=[(f"{{{{{name}}}}}", choice["from"]) for name, choice in task.get("free", {}).items()],
        passes=passes,
        passed_by=_passed_by(passes, lines),
        faults=[_written(fault) for fault in task.get("faults", ())],
        solutions=[[_call(call) for call in solution["calls"]] for solution in solutions],
        facts=[("SHA-256 of the task", found["sha256"])]
        + [(words, opening[name]) for name, words in (("commitment", "Commitment"), ("salt", "Salt")) if opening],
        leaf=opening.get("commit"),
    )


def leaf_page(index: int, size: int, leaf: bytes) -> str:
    """Draw the page of a leaf of the log, which has `size` leaves."""
    try:
        document = json.loads(leaf)
        statement, (subject,) = _written(document), document["subject"][0]["digest"].values()
    except (ValueError, LookupError, TypeError, AttributeError):  # no leaf of ours; an audit says what is wrong with it
        statement, subject = leaf.decode("utf-8", "backslashreplace"), ""
    return render(
        "leaf.html.jinja",
        here="/explorer",
        index=index,
        size=size,
        statement=statement,
        subject=subject,
        before=index - 1 if index else None,
        after=index + 1 if index + 1 < size else None,
    )


def address(task: str) -> str:
    """Return the address of a task's page."""
    return f"/task/{task}"


def _passed_by(passes: Item | None, lines: Sequence[Item]) -> dict[str, str]:
    """Map the names of the agents of leaderboards whose runs passed to the addresses of their pages."""
    runs = set(passes["passed"]) if passes else set()
    return {
        legible(line["display_name"] or f"{line['submitter']}/{line['name']}"): agent_address(
            line["submitter"], line["name"]
        )
        for line in lines
        if line["run"] in runs
    }


def _call(call: Item) -> str:
    return f"{call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"


def _written(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
