"""Verb `log monitor`: checks a log against the head that was seen last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output

if TYPE_CHECKING:
    from vault.errors import Disagreement


verbs = typer.Typer()


@verbs.command("monitor")
def monitor(
    source: Annotated[str, typer.Argument(help="The log's folder, or the address below which it is served.")],
    key: Annotated[
        list[Path], typer.Option("--key", metavar="FILE", help="A file with the log's verifier keys; may repeat.")
    ],
    state: Annotated[
        Path, typer.Option(dir_okay=False, help="The file with the state of the last look; created if missing.")
    ],
    as_json: Json = False,
) -> None:
    """Check a log since the last look: forks, overdue cohorts, unclosed runs, withdrawn tasks."""
    from quarterturn.audit.log_monitor import follow
    from quarterturn.wall_clock import now
    from vault.errors import Broken
    from vault.ledger.audit.command import read_keys

    out = Output(as_json=as_json)
    try:
        report = follow(source, [vkey for path in key for vkey in read_keys(path)], state, now)
    except Broken as error:
        evidence = error.evidence and error.evidence.as_json()
        data = {"size": None, "alarms": [str(error)], "news": [], "evidence": evidence}
        out.result(data, str(error), *_lines(error.evidence), ok=False)
    else:
        lines = [*report.alarms, *_lines(report.evidence), *report.news]
        out.result(report.as_json(), *(lines or [f"{report.size} leaves, all promises kept"]), ok=not report.alarms)


def _lines(evidence: Disagreement | None) -> list[str]:
    return [f"    {line}" for line in evidence.lines()] if evidence else []
