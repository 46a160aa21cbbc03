"""Verb `watch trace`: traces a leaked text to the run that it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import NotFound


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
    from quarterturn.findings import leak_trace

    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    with open_app(home) as house:
        report = leak_trace.report(house, file.read_bytes(), who)
    Output(as_json=as_json).result(report.data, *report.lines)
