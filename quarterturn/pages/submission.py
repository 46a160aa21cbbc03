"""Submitters' pages: the list of their submissions with the quotas, and the page of one submission. Pure.

Everything comes from the JSON that the same caller gets from the API, so a page discloses no more than the API does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn import trace_text
from quarterturn.pages.display_names import NameForm
from quarterturn.pages.drawing import figures
from quarterturn.pages.drawing.formatting import NONE, percent
from quarterturn.pages.drawing.grid import Column, Grid, briefly, minute, plainly
from quarterturn.pages.drawing.words import counted
from quarterturn.pages.submission_form import FormView
from quarterturn.pages.task import address as task_address
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
    "before": "Waiting: {before} before it. The one with the fewest of its own party ahead of it is next.",
    "again": "Waiting: our machine cannot run it now. Next try from {retry} on.",
    "named": "Waiting: the private run that your party named to count goes first. It starts once that one has ended.",
    "own": "Waiting: your party already has as many submissions running as may run at a time. It starts once one of "
    "them has ended.",
}
AT_THE_TURN = "If the month turns first (from {due} on), it ends with the code turn."
QUOTAS = {
    "private": "Runs on the private set this month",
    "dev": "Runs on the dev set today",
    "check": "Checks today",
    "waiting": "Waiting or running now",
}
UNITS = {"private": "private run", "dev": "run on the dev set", "check": "check"}
TIMES = {"created_at": "Submitted", "started_at": "Started", "ended_at": "Ended"}
UPDATES = {
    "private": "This page updates itself when the state changes; a run ends on a full minute.",
    "dev": "This page updates itself.",
}
PARTS = {"sealed": "The sealed cohorts", "whole": "All cohorts"}
ENDED = "It ended before it was finished: tasks that it was not served count as failed when the month turns."
LATER = {
    "private": "Results on private tasks are shown once the tasks are published, the first of them at the next turn.",
    "dev": "The calls are shown when the run is done.",
}

Item = Mapping[str, Any]


def overview(
    account: str,
    records: Sequence[Item],
    quotas: Item,
    query: str = "",
    more: str = "",
    *,
    submit: FormView,
    names: Sequence[NameForm] = (),
) -> str:
    """Draw a page of an account's submissions: that of `query`, and `more` is the query of the older ones.

    `submit` is the form for another one, and `names` are the forms that name its agents.
    """
    return render(
        "submissions.html.jinja",
        here=HERE,
        account=account,
        grid=submissions(records),
        quota=budget(quotas),
        query=query,
        more=more,
        submit=submit,
        names=names,
    )


def page(
    account: str,
    submission: Item,
    waits: str | None,
    quotas: Item,
    trace: Item | None,
    *,
    measured: Item | None = None,
    retry: str | None,
    due: str,
) -> str:
    """Draw the page of one submission.

    Args:
        account: whose it is.
        submission: the submission as it stands.
        waits: why it waits, as one of `WAITS`, or None.
        quotas: what is used and left.
        trace: what it did, or None where nothing of that may be shown.
        measured: the figures of its trace page (`quarterturn.runs.measures`), or None.
        retry: until when it is set aside, or None.
        due: from when on the next turn is due.
    """
    failure, state = submission["failure"], submission["state"]
    return render(
        "submission.html.jinja",
        here=HERE,
        base=f"/submission/{submission['id']}",
        account=account,
        one=submission,
        agent=_brief(submission["agent"]),
        result=_result(submission),
        sign=SIGNS[state],
        of=SETS[submission["set"]],
        times=[(words, minute(submission[name])) for name, words in TIMES.items() if submission[name]],
        waits=_waits(submission, waits, retry, due) if waits else "",
        failed=f"{state.capitalize()} with the code {failure['code']}." if failure else "",
        unfinished=_lasts(submission),
        updates=UPDATES["private" if submission["set"] == "private" else "dev"],
        cost=_cost(submission),
        told=_figures_shown(submission),
        grids=grids(submission, quotas, trace, measured),
        traces=_traces(trace) if trace else [],
        later=_later(submission),
    )


def success(submission: Item) -> float | None:
    """Return the share of tasks passed, where its owner may see it: as disclosed, or as counted on the dev set."""
    if submission["set"] == "private":
        parts = submission["figures"] or {}
        ranked = "whole" if submission["kind"] == "endpoint" else "sealed"
        share: float | None = parts[ranked]["success_rate"]["value"] if parts else None
        return share
    score = submission["score"]
    return score["passed"] / score["attempted"] if score else None


def _result(submission: Item) -> tuple[str, str] | None:
    """Return the submission's result in one figure, with its name: tasks passed of the dev set, or the success rate."""
    score, share = submission["score"], success(submission)
    if share is None:
        return None
    if submission["set"] == "private":
        return "Success", percent(share, 1)
    return "Passed", f"{score['passed']} of {counted(score['attempted'], 'task')}"


def submissions(records: Sequence[Item]) -> Grid:
    """Return the table of submissions."""
    columns = (
        Column("id", "Submission", href="/submission/{id}"),
        Column("state", "State", lambda state: SIGNS[state]),
        Column("success", "Success", lambda share: percent(share, 1)),
        Column("set", "Set"),
        Column("agent", "Agent", _brief),
        Column("code", "Code"),
        Column("place", "Position", lambda place: NONE if place is None else str(place + 1)),
        *(Column(name, words, minute) for name, words in TIMES.items()),
        Column("month", "Month"),
        Column("run", "Run"),
    )
    rows = [
        {**record, "success": success(record), "code": record["failure"]["code"] if record["failure"] else None}
        for record in records
    ]
    return Grid("submissions", "Submissions, newest first", columns, rows)


def _brief(agent: str) -> str:
    """Write an image's name with the beginning of its digest."""
    return re.sub(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}$", r"\1…", plainly(agent))


def budget(quotas: Item) -> Grid:
    """Return the table of quotas."""
    columns = (
        Column("quota", "Quota", lambda name: QUOTAS[name]),
        Column("used", "Used"),
        Column("limit", "Limit"),
        Column("left", "Left"),
        Column("until", "Resets at", minute),
    )
    rows = [{"quota": name, **quota} for name, quota in quotas.items()]
    return Grid("quotas", "Quotas, shared with linked accounts", columns, rows)


def grids(submission: Item, quotas: Item, trace: Item | None, measured: Item | None = None) -> dict[str, Grid]:
    """Return a submission's tables by their names."""
    all_grids = [budget(quotas)]
    if submission["figures"]:
        all_grids.append(_figures(submission["figures"]))
    if trace:
        all_grids += [_tasks(trace), _calls(trace)]
    if measured:
        all_grids.append(_measures(measured))
        if measured["diagnosed"]:
            all_grids.append(_failures(measured))
    return {grid.name: grid for grid in all_grids}


def _waits(submission: Item, waits: str, retry: str | None, due: str) -> str:
    before = counted(submission["place"] or 0, "submission")
    says = WAITS[waits].format(before=before, retry=minute(retry))
    return f"{says} {AT_THE_TURN.format(due=minute(due))}" if submission["set"] == "private" else says


def _cost(submission: Item) -> str:
    """Say what it costs, in one sentence: what `quarterturn.failure_codes.charged` charges, and until when."""
    private = submission["set"] == "private"
    when = submission["month"] if private else submission["created_at"][:10]
    unit = f"one {UNITS[submission['set']]} of {when}"
    if not submission["charged"]:
        return f"It cost nothing: {unit} was given back to your quota."
    if submission["state"] == "done":
        return f"It used {unit} of your quota, as every finished run does."
    if not _lasts(submission):
        return (
            f"It used {unit} of your quota: {'it was served a task' if private else 'it had started'} before it ended."
        )
    if private:
        back = "if it ends before it is served a task"
    elif submission["started_at"]:
        back = "only if a failure of ours ends it"
    else:
        back = "if it is cancelled before it starts, or if a failure of ours ends it"
    return f"It uses {unit} of your quota, which is given back {back}."


def _lasts(submission: Item) -> bool:
    return submission["state"] in ("queued", "running")


def _later(submission: Item) -> str:
    """Say when its trace can be shown."""
    if submission["state"] in ("failed", "cancelled"):
        return (
            ENDED
            if submission["set"] == "private" and submission["charged"]
            else "It ended without a result, and has no trace."
        )
    return LATER["private" if submission["set"] == "private" else "dev"]


def _figures_shown(submission: Item) -> list[tuple[str, list[figures.Shown]]]:
    if not submission["figures"]:
        return []
    return [
        (
            words,
            [figures.draw_figure(title, submission["figures"][part][name]) for name, title in figures.NAMES.items()],
        )
        for part, words in PARTS.items()
        if submission["figures"][part]["attempted"]
    ]


def _figures(disclosed: Item) -> Grid:
    columns = (
        Column("of", "Cohorts"),
        Column("figure", "Figure"),
        *(Column(bound, bound.capitalize()) for bound in figures.BOUNDS),
    )
    rows = [{"of": part, "figure": name, **disclosed[part][name]} for part in PARTS for name in figures.NAMES]
    return Grid("figures", "Disclosed figures", columns, rows)


def _measures(measured: Item) -> Grid:
    columns = (
        Column("measure", "Measure"),
        Column("value", "Value", lambda share: percent(share, 1)),
        Column("low", "Low", lambda share: percent(share, 1)),
        Column("high", "High", lambda share: percent(share, 1)),
        Column("n", "n"),
        Column("of", "n counts"),
    )
    rows = [{**row, "measure": row["title"], "of": row["counts"]} for row in measured["measures"]]
    return Grid("measures", "Measures", columns, rows)


def _failures(measured: Item) -> Grid:
    share = lambda value: percent(value, 1)  # noqa: E731 - as the other tables write it
    columns = (
        Column("class", "Failure class"),
        Column("value", "Share", share),
        Column("low", "Low", share),
        Column("high", "High", share),
        Column("n", "Failures"),
        Column("median", "Median of others", share),
        Column("runs", "Their runs"),
    )
    rows = [{**row, "class": row["title"], "runs": measured["field_runs"]} for row in measured["profile"]]
    return Grid("failures", "Why tasks failed", columns, rows)


def _tasks(trace: Item) -> Grid:
    columns = (
        Column("task", "Task", href=task_address("{task}")),
        Column("passed", "Passed", lambda passed: "yes" if passed else "no"),
        Column("verdict", "Verdict"),
        Column("code", "Outcome"),
        Column("calls", "Calls"),
        Column("max_steps", "Allowed"),
        Column("attempts", "Attempts"),
    )
    rows = [{**run, "task": run["task_id"], "calls": len(run["transcript"]["calls"])} for run in _runs(trace)]
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
        {**call, "task": run["task_id"], "call": number, "arguments": json.dumps(call["arguments"], ensure_ascii=False)}
        for run in _runs(trace)
        for number, call in enumerate(run["transcript"]["calls"], 1)
    ]
    return Grid("calls", "Calls of those tasks", columns, rows)


def _traces(trace: Item) -> list[tuple[str, list[str]]]:
    """Return each task's line, and its trace as text; of a retired task of a private run only the run is kept."""
    pairs = [(played.get("task"), played["run"]) for played in trace["tasks"]]
    return [(trace_text.headline(*pair), trace_text.trace(*pair)) for pair in pairs]


def _runs(trace: Item) -> list[Item]:
    return [task["run"] for task in trace["tasks"]]
