"""Verb `watch trace`: traces a leaked text to the run that it came from, and shows never a word of a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed, require_file

if TYPE_CHECKING:
    from rotation.detection.leak_trace import TraceReport

WORDS = {
    "nothing": "nothing found: the text holds no variant of a task that was served, or too little of one",
    "unvaried": "it is a task as the vault has it, which no run was shown: check who opened it (`access log`)",
    "one": "it came from one recipient",
    "two": "two recipients combined their variants",
    "unclear": "it holds values of a task, but nobody can be named with certainty",
}


def register(watch: typer.Typer) -> None:
    """Add the verb to the group."""
    watch.command("trace")(trace)


def trace(
    file: Annotated[Path, typer.Argument(help="The leaked text, as it was found.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Name the run that a leaked text came from; opens every task served in variants, and logs the text's hash."""
    from quarterturn.cli.terminal.secrets import open_app

    require_file(file)
    if not (leaked := file.read_bytes()).strip():
        raise Malformed(f"{file} is empty: put the text that leaked into it; no task was opened")
    with open_app(home) as app:
        report = app.leak_tracer.trace(leaked, who=who)
    Output(as_json=as_json).result(_row(report), *_lines(report))


def _row(report: TraceReport) -> dict[str, Any]:
    trace = report.trace
    return {
        "verdict": trace.verdict,
        "sha256": report.sha256,
        "logged": report.logged.at.isoformat(),
        "access_log_entry": report.logged.number,
        "key_was_public": list(report.public),
        "tasks": report.tasks,
        "sources": [asdict(source) for source in trace.sources],
        "named": [
            {
                "submitter": recipient.submitter,
                "month": recipient.month,
                "probability": round(sure, 4),
                "runs": list(report.runs[recipient]),
            }
            for recipient, sure in trace.named
        ],
        "probabilities": {name: round(getattr(trace, name), 4) for name in ("one", "two", "unvaried", "nobody")},
    }


def _lines(report: TraceReport) -> Iterator[str]:
    trace = report.trace
    yield f"text {report.sha256}, logged {report.logged.at:%Y-%m-%d %H:%M:%S} UTC as entry {report.logged.number}"
    yield f"compared with {report.tasks} tasks that are served in variants: {WORDS[trace.verdict]}"
    for source in trace.sources:
        yield f"task {source.task_id}: {source.values} of its {source.of} free values are in the text"
    for recipient, sure in trace.named:
        runs = ", ".join(map(str, report.runs[recipient]))
        yield f"{recipient.submitter}, {recipient.month} (run {runs}): {sure:.1%}"
    if trace.verdict == "two" and len(trace.named) < 2:  # noqa: PLR2004 - two did it
        yield "who the other one was cannot be told; nobody is named on a guess"
    for task_id in report.public:
        yield f"the key of task {task_id} was public before the text was logged: this is evidence against nobody"
