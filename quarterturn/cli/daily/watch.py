"""Command group `watch`: findings of the detectors, exposure, and tracing of leaks."""

from __future__ import annotations

import typer

from quarterturn.cli.daily import evidence, findings, report, scan, trace


def register(app: typer.Typer) -> None:
    """Add the group."""
    watch = typer.Typer(help="Findings of the detectors, and who was served which task.")
    findings.register(watch)
    scan.register(watch)
    trace.register(watch)
    evidence.register(watch)
    report.register(watch)
    app.add_typer(watch, name="watch")
