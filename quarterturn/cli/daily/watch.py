"""Verbs of the group `watch`: findings of the detectors, exposure, tracing of leaks, and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.choices import ReviewState
from quarterturn.cli.daily.scan import scan
from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, require_file

if TYPE_CHECKING:
    from rotation.detection.leak_trace import TraceReport

VERDICT_WORDS = {
    "nothing": "nothing found: the text holds no variant of a task that was served, or too little of one",
    "unvaried": "it is a task as the vault has it, which no run was shown: check who opened it (`access log`)",
    "one": "it came from one recipient",
    "two": "two recipients combined their variants",
    "unclear": "it holds values of a task, but nobody can be named with certainty",
}

verbs = typer.Typer(name="watch", help="Findings of the detectors, and who was served which task.")
FindingNumber = Annotated[int, typer.Argument(help="A finding's number.")]


@verbs.command("list")
def list_findings(
    month: Annotated[str | None, typer.Option(help="YYYY-MM (default: every month).")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include clean results.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List the findings that need attention, with their reviews."""
    from quarterturn.cli.daily import findings_text
    from quarterturn.findings.finding_list import listed

    with open_app(home) as app:
        shown = listed(app.benchmark.findings, month, everything=everything)
    lines = list(findings_text.of_list(shown))
    Output(as_json=as_json).result(
        shown.as_json(), *(lines or ["no detector has run yet: they run after each run and each turn"])
    )


@verbs.command("review")
def review(
    finding: FindingNumber,
    state: Annotated[ReviewState, typer.Argument(help="The state to set.")],
    who: Who,
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Set the state of a finding's review. Scores do not change."""
    from quarterturn.cli.daily import findings_text
    from quarterturn.findings.finding_list import described

    with open_app(home) as app:
        reviewed = app.benchmark.findings.review(finding, state, who=who, note=note)
    Output(as_json=as_json).result(described(reviewed), *findings_text.of_finding(reviewed))


@verbs.command("exposure")
def exposure(
    task: Annotated[str | None, typer.Option(help="A task's id: who was served it, and when.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show how often each task was served, to how many submitters, and who read it outside the sandbox."""
    from quarterturn.cli.daily.findings_text import exposure_line, exposure_row
    from rotation.exposure.store import exposure_summaries

    with open_app(home) as app:
        if task is not None:
            app.home.vault.record(task)  # refuses an unknown id
        servings = app.benchmark.exposures.servings(task)
    tasks = exposure_summaries(servings, lambda serving: serving.task).values()
    data: dict[str, Any] = {"tasks": [exposure_row(summary) for summary in tasks]}
    if task is None:
        skeletons = exposure_summaries(servings, lambda serving: serving.skeleton).values()
        data["skeletons"] = [exposure_row(summary) for summary in skeletons]
        lines = [exposure_line(summary) for summary in tasks]
    else:
        data["servings"] = [
            {"run": s.run, "month": s.month, "submitter": s.submitter, "channel": s.channel, "times": s.times}
            | {"first_at": s.first_at.isoformat(), "last_at": s.last_at.isoformat()}
            for s in servings
        ]
        lines = [
            f"run {s.run:<5} {s.month}  {s.submitter:<24} {s.channel:<24} {s.times:>3} times, last {s.last_at:%Y-%m-%d}"
            for s in servings
        ]
    nothing = "nothing was served yet" if task is None else f"nobody was served {task}"
    Output(as_json=as_json).result(data, *(lines or [nothing]))


verbs.command("scan")(scan)


@verbs.command("trace")
def trace(
    file: Annotated[Path, typer.Argument(help="The leaked text, as it was found.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Name the run that a leaked text came from; opens every task served in variants, and logs the text's hash."""
    require_file(file)
    if not (leaked := file.read_bytes()).strip():
        raise Malformed(f"{file} is empty: put the text that leaked into it; no task was opened")
    with open_app(home) as app:
        report = app.detection.leak_tracer.trace(leaked, who=who)
    Output(as_json=as_json).result(_trace_row(report), *_trace_lines(report))


@verbs.command("evidence")
def evidence(
    finding: FindingNumber,
    who: Who,
    task: Annotated[str | None, typer.Option(help="The task, where the finding names none.")] = None,
    run: Annotated[int | None, typer.Option(min=1, help="The run, where the finding names none.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write it to; it must not exist.")] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Have the task's release carry it.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write the evidence of a finding on a published task, or have the release of a private one carry it."""
    if (out is None) is not publish:
        raise typer.BadParameter("give either --out FILE or --publish")
    with open_app(home) as app:
        chosen = app.detection.evidence_exports.chosen(finding, task, run)
        if out is None:
            app.detection.evidence_exports.publish(chosen, who=who)
        else:
            app.detection.evidence_exports.write(chosen, out, who=who)
    data = {"finding": finding, "run": chosen.run, "task": chosen.task, "file": out and str(out)}
    what = f"the evidence of finding {finding} (run {chosen.run}, task {chosen.task})"
    done = f"{what}: {out}" if out else f"{what} will be in the release of its task's cohort"
    Output(as_json=as_json).result(data, done)


@verbs.command("report")
def report(
    month: Annotated[str, typer.Option(help="YYYY-MM.")],
    html: Annotated[Path, typer.Option(help="The file to write the page to; it must not exist.")],
    figures: Annotated[Path | None, typer.Option(help="The file to write the page's figures to, as JSON.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write a month's findings report for maintainers as one HTML file; it names live tasks by their ids only."""
    with open_app(home) as app:
        made = app.detection.reports.write(month, html, figures)
    results = made["report"]
    few = f"; too few peers for a verdict about leaks, which takes {made['fewest']}" if results["too_few_peers"] else ""
    count, submitters = len(made["findings"]), results["submitters"]
    summary = f"{made['month']}: {count} findings want attention, {submitters} submitters{few}: {html}"
    Output(as_json=as_json).result(made | {"html": str(html)}, summary)


def _trace_row(report: TraceReport) -> dict[str, Any]:
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


def _trace_lines(report: TraceReport) -> Iterator[str]:
    trace = report.trace
    yield f"text {report.sha256}, logged {report.logged.at:%Y-%m-%d %H:%M:%S} UTC as entry {report.logged.number}"
    yield f"compared with {report.tasks} tasks that are served in variants: {VERDICT_WORDS[trace.verdict]}"
    for source in trace.sources:
        yield f"task {source.task_id}: {source.values} of its {source.of} free values are in the text"
    for recipient, sure in trace.named:
        runs = ", ".join(map(str, report.runs[recipient]))
        yield f"{recipient.submitter}, {recipient.month} (run {runs}): {sure:.1%}"
    if trace.verdict == "two" and len(trace.named) < 2:  # noqa: PLR2004 - two did it
        yield "who the other one was cannot be told; nobody is named on a guess"
    for task_id in report.public:
        yield f"the key of task {task_id} was public before the text was logged: this is evidence against nobody"
