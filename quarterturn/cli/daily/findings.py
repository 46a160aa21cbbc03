"""Verbs about findings and exposure: list, review, and who was served which task."""

from __future__ import annotations

from typing import Annotated

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
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.findings import detection

    with open_app(home) as house:
        report = detection.listing(house, month, everything=everything)
    Output(as_json=as_json).result(report.data, *report.lines)


def review(
    finding: Annotated[int, typer.Argument(help="A finding's number.")],
    state: Annotated[ReviewState, typer.Argument(help="The status to set.")],
    who: Who,
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Set a finding's status. Scores do not change."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.findings import detection

    with open_app(home) as house:
        report = detection.review(house, finding, state, note, who)
    Output(as_json=as_json).result(report.data, *report.lines)


def exposure(
    task: Annotated[str | None, typer.Option(help="A task's id: who was served it, and when.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show how often each task was served, to how many submitters, and who read it outside the sandbox."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.findings import detection

    with open_app(home) as house:
        report = detection.exposure(house, task)
    Output(as_json=as_json).result(report.data, *report.lines)
