"""Verbs about findings and exposure: list, review, and who was served which task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quarterturn.choices import ReviewState
from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output


def register(watch: typer.Typer) -> None:
    """Add the verbs to the group."""
    watch.command("list")(list_findings)
    watch.command("review")(review)
    watch.command("exposure")(exposure)


def list_findings(
    month: Annotated[str | None, typer.Option(help="YYYY-MM (default: every month).")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include clean results.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List the findings that need attention, with their reviews."""
    from quarterturn.cli.daily import findings_text
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.findings.finding_list import listed

    with open_app(home) as app:
        shown = listed(app.findings, month, everything=everything)
    lines = list(findings_text.of_list(shown))
    Output(as_json=as_json).result(
        shown.as_json(), *(lines or ["no detector has run yet: they run after each run and each turn"])
    )


def review(
    finding: Annotated[int, typer.Argument(help="A finding's number.")],
    state: Annotated[ReviewState, typer.Argument(help="The state to set.")],
    who: Who,
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Set the state of a finding's review. Scores do not change."""
    from quarterturn.cli.daily import findings_text
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.findings.finding_list import described

    with open_app(home) as app:
        reviewed = app.findings.review(finding, state, who=who, note=note)
    Output(as_json=as_json).result(described(reviewed), *findings_text.of_finding(reviewed))


def exposure(
    task: Annotated[str | None, typer.Option(help="A task's id: who was served it, and when.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show how often each task was served, to how many submitters, and who read it outside the sandbox."""
    from quarterturn.cli.daily.findings_text import exposure_line, exposure_row
    from quarterturn.cli.terminal.secrets import open_app
    from rotation.exposure.store import exposure_summaries

    with open_app(home) as app:
        if task is not None:
            app.vault.record(task)  # refuses an unknown id
        servings = app.exposures.servings(task)
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
