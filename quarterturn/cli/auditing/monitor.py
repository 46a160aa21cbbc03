"""Verb `log monitor`: checks a log against the head that was seen last."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output


def register(log: typer.Typer) -> None:
    """Add the verb to the group."""
    log.command("monitor")(monitor)


def monitor(
    source: Annotated[str, typer.Argument(help="The log's folder, or the address below which it is served.")],
    key: Annotated[
        list[Path], typer.Option("--key", metavar="FILE", help="A file with the log's verifier keys; may repeat.")
    ],
    state: Annotated[Path, typer.Option(help="The file with the state of the last look; created if missing.")],
    as_json: Json = False,
) -> None:
    """Check a log since the last look: forks, overdue cohorts, unclosed runs, withdrawn tasks."""
    from quarterturn.audit.log_monitor import follow
    from quarterturn.wall_clock import now
    from vault.ledger.audit.command import read_keys

    report = follow(source, [vkey for path in key for vkey in read_keys(path)], state, now)
    Output(as_json=as_json).result(report.data, *report.lines, ok=report.ok)
