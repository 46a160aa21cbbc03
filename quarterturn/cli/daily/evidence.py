"""Verb `watch evidence`: writes what opens one result that a finding rests on, for anybody to check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output


def register(watch: typer.Typer) -> None:
    """Add the verb to the group."""
    watch.command("evidence")(evidence)


def evidence(
    finding: Annotated[int, typer.Argument(help="A finding's number.")],
    who: Who,
    task: Annotated[str | None, typer.Option(help="The task, where the finding names none.")] = None,
    run: Annotated[int | None, typer.Option(min=1, help="The run, where the finding names none.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write it to; it must not exist.")] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Have the task's release carry it.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write the evidence of a finding on a published task, or have the release of a private one carry it."""
    from quarterturn.cli.terminal.secrets import open_app

    if (out is None) is not publish:
        raise typer.BadParameter("give either --out FILE or --publish")
    with open_app(home) as app:
        chosen = app.evidence_exports.chosen(finding, task, run)
        if out is None:
            app.evidence_exports.publish(chosen, who=who)
        else:
            app.evidence_exports.write(chosen, out, who=who)
    data = {"finding": finding, "run": chosen.run, "task": chosen.task, "file": out and str(out)}
    what = f"the evidence of finding {finding} (run {chosen.run}, task {chosen.task})"
    done = f"{what}: {out}" if out else f"{what} will be in the release of its task's cohort"
    Output(as_json=as_json).result(data, done)
