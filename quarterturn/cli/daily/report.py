"""Verb `watch report`: the monthly findings report for maintainers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output


def register(watch: typer.Typer) -> None:
    """Add the verb to the group."""
    watch.command("report")(report)


def report(
    month: Annotated[str, typer.Option(help="YYYY-MM.")],
    html: Annotated[Path, typer.Option(help="The file to write the page to; it must not exist.")],
    figures: Annotated[Path | None, typer.Option(help="The file to write the page's figures to, as JSON.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write a month's findings report for maintainers as one HTML file; it names live tasks by their ids only."""
    from quarterturn.cli.terminal.secrets import open_app

    with open_app(home) as app:
        made = app.detection_reports.write(month, html, figures)
    results = made["report"]
    few = f"; too few peers for a verdict about leaks, which takes {made['fewest']}" if results["too_few_peers"] else ""
    count, submitters = len(made["findings"]), results["submitters"]
    summary = f"{made['month']}: {count} findings want attention, {submitters} submitters{few}: {html}"
    Output(as_json=as_json).result(made | {"html": str(html)}, summary)
