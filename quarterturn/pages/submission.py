"""Submitters' pages: the list of their submissions with the quotas, and the page of one submission. Pure.

Everything comes from the JSON that the same caller gets from the API, so a page discloses no more than the API does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.pages.drawing import figures
from quarterturn.pages.drawing.formatting import NONE
from quarterturn.pages.drawing.grid import Column, Grid, briefly, minute
from quarterturn.pages.drawing.words import counted
from quarterturn.pages.templates import render

HERE = "/mine"
SETS = {"dev": "the dev set", "private": "the private set", "check": "one task of the dev set"}
SIGNS = {
    "queued": "○ waiting",
    "running": "● running",
    "done": "✓ done",
    "failed": "▲ failed",
    "cancelled": f"{NONE} cancelled",
}
WAITS = {
    "next": "Waiting: first in the queue. It starts when a worker for its class of runs is free.",
    "before": "Waiting: {} before it. The one with the fewest of its own party before it comes first.",
    "again": "Waiting: our machine cannot run it now. Next try within minutes. Refunded if it never starts.",
    "own": "Waiting: your party already has as many submissions running as may run at a time.",
}
QUOTAS = {
    "private": "Runs on the private set this month",
    "dev": "Runs on the dev set today",
    "check": "Checks today",
    "waiting": "Waiting or running now",
}
PARTS = {"sealed": "The three sealed cohorts", "whole": "All cohorts"}
ENDED = "It ended before it was finished: tasks that it was not served count as failed when the month turns."
LATER = {
    "private": "Results on private tasks are shown once the tasks are published, the first of them at the next turn.",
    "dev": "The calls are shown when the run is done.",
}

Item = Mapping[str, Any]


def overview(account: str, found: Sequence[Item], quotas: Item, query: str = "", more: str = "") -> str:
    """Draw a page of an account's submissions: that of `query`, and `more` is the query of the older ones."""
    return render(
        "submissions.html.jinja",
        here=HERE,
        account=account,
        grid=submissions(found),
        quota=budget(quotas),
        query=query,
        more=more,
    )


def page(account: str, one: Item, waits: str | None, quotas: Item, trace: Item | None) -> str:
    """Draw the page of one submission.

    Args:
        account: whose it is.
        one: the submission as it stands, and its `agent`.
        waits: why it waits, as one of `WAITS`, or None.
        quotas: what is used and left.
        trace: what it did, or None where nothing of that may be shown.
    """
    return render(
        "submission.html.jinja",
        here=HERE,
        base=f"/submission/{one['id']}",
        account=account,
        one=one,
        sign=SIGNS[one["state"]],
        of=SETS[one["set"]],
        waits=WAITS[waits].format(counted(one["place"] or 0, "submission")) if waits else "",
        unfinished=_lasts(one),
        charged=_charged(one, quotas),
        told=_told(one),
        grids=grids(one, quotas, trace),
        later=_later(one),
    )


def submissions(found: Sequence[Item]) -> Grid:
    """Give the table of submissions."""
    columns = (
        Column("id", "Submission", href="/submission/{id}"),
        Column("state", "State", lambda state: SIGNS[state]),
        Column("place", "Queue position", lambda place: NONE if place is None else str(place + 1)),
        Column("set", "Set"),
        Column("month", "Month"),
        Column("code", "Code"),
        Column("run", "Run"),
        Column("created_at", "Submitted", minute),
        Column("agent", "Agent"),
    )
    rows = [{**one, "code": one["failure"]["code"] if one["failure"] else None} for one in found]
    return Grid("submissions", "Submissions, the newest first", columns, rows)


def budget(quotas: Item) -> Grid:
    """Give the table of quotas."""
    columns = (
        Column("quota", "Quota", lambda name: QUOTAS[name]),
        Column("used", "Used"),
        Column("limit", "Of"),
        Column("left", "Left"),
        Column("until", "Resets at", minute),
    )
    rows = [{"quota": name, **quota} for name, quota in quotas.items()]
    return Grid("quotas", "Quotas, shared with linked accounts", columns, rows)


def grids(one: Item, quotas: Item, trace: Item | None) -> dict[str, Grid]:
    """Give a submission's tables by their names."""
    found = [budget(quotas)]
    if one["figures"]:
        found.append(_figures(one["figures"]))
    if trace:
        found += [_tasks(trace), _calls(trace)]
    return {grid.name: grid for grid in found}


def _charged(one: Item, quotas: Item) -> str:
    """Say what it costs, and until it ends how much of the quota is used; later the quota may have been reset."""
    if not one["charged"]:
        return "It does not count against a quota."
    used = f": {quotas[one['set']]['used']} of {quotas[one['set']]['limit']} are used" if _lasts(one) else ""
    return f"It counts against the quota of runs on {SETS[one['set']]}{used}."


def _lasts(one: Item) -> bool:
    return one["state"] in ("queued", "running")


def _later(one: Item) -> str:
    """Say when its trace can be shown."""
    if one["state"] in ("failed", "cancelled"):
        return ENDED if one["set"] == "private" and one["charged"] else "It ended without a result, and has no trace."
    return LATER["private" if one["set"] == "private" else "dev"]


def _told(one: Item) -> list[tuple[str, list[figures.Shown]]]:
    if not one["figures"]:
        return []
    return [
        (words, [figures.shown(title, one["figures"][part][name]) for name, title in figures.NAMES.items()])
        for part, words in PARTS.items()
        if one["figures"][part]["attempted"]
    ]


def _figures(told: Item) -> Grid:
    columns = (
        Column("of", "Cohorts"),
        Column("figure", "Figure"),
        *(Column(bound, bound.capitalize()) for bound in figures.BOUNDS),
    )
    rows = [{"of": part, "figure": name, **told[part][name]} for part in PARTS for name in figures.NAMES]
    return Grid("figures", "Disclosed figures", columns, rows)


def _tasks(trace: Item) -> Grid:
    columns = (
        Column("task", "Task", href="/tasks/{task}"),
        Column("verdict", "Verdict"),
        Column("code", "Outcome"),
        Column("calls", "Calls"),
        Column("max_steps", "Of"),
        Column("attempts", "Attempts"),
    )
    rows = [
        {
            "task": run["task_id"],
            "verdict": run["verdict"],
            "code": run["code"],
            "calls": len(run["transcript"]["calls"]),
            "max_steps": run["max_steps"],
            "attempts": run["attempts"],
        }
        for run in _runs(trace)
    ]
    return Grid("tasks", "Public tasks of the run", columns, rows)


def _calls(trace: Item) -> Grid:
    columns = (
        Column("task", "Task"),
        Column("call", "Call"),
        Column("tool", "Tool"),
        Column("arguments", "Arguments", briefly),
        Column("error", "Error"),
        Column("result", "Result", briefly),
    )
    rows = [
        {
            "task": run["task_id"],
            "call": number,
            "tool": call["tool"],
            "arguments": json.dumps(call["arguments"], ensure_ascii=False),
            "error": call["error"],
            "result": call["result"],
        }
        for run in _runs(trace)
        for number, call in enumerate(run["transcript"]["calls"], 1)
    ]
    return Grid("calls", "Calls of those tasks", columns, rows)


def _runs(trace: Item) -> list[Item]:
    return [one["run"] for one in trace["tasks"]]
