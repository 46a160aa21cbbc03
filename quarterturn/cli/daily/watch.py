"""The group of verbs about what looks wrong."""

from __future__ import annotations

import typer

from quarterturn.cli.daily import findings, report, scan, trace


def register(app: typer.Typer) -> None:
    """Add the group."""
    watch = typer.Typer(help="What looks wrong: findings, and who was served what.")
    findings.register(watch)
    scan.register(watch)
    trace.register(watch)
    report.register(watch)
    app.add_typer(watch, name="watch")
