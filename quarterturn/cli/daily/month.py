"""Verbs of the benchmark month: `turn` and `release`."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app

turn_verbs = typer.Typer(name="turn", help="The monthly turn: one cohort retires, another goes live.")
release_verbs = typer.Typer(name="release", help="Releases: what a turn published of a month.")


@turn_verbs.command("plan")
def turn_plan(home: Home = HOME, as_json: Json = False) -> None:
    """Show what the next turn would do; changes nothing."""
    from quarterturn.cli.daily import month_text

    with open_app(home) as app:
        planned = app.month.preview.plan()
    Output(as_json=as_json).result(month_text.planned_row(planned), *month_text.planned_lines(planned))


@turn_verbs.command("run")
def turn_run(
    month: Annotated[str | None, typer.Option(help="Which turn (default: the next).")] = None,
    early: Annotated[bool, typer.Option("--early", help="End the live month before its time, for good.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make the next turn, or resume the one that was begun. Exit code 8: the live month is not over."""
    from quarterturn.cli.daily import findings_text
    from rotation.turn.turn_facts import spot_check_lines

    out = Output(as_json=as_json)
    with open_app(home) as app:
        turn = app.month.turns.run(month, out, early=early)
        live = sum(len(cohort.tasks) for cohort in app.benchmark.months.cohorts("live"))
        data = {"month": str(turn.month), "steps": list(turn.done), "live": live}
        lines = [f"The turn of {turn.month} is done; {live} tasks are live."]
        release = app.home.places.releases / turn.month.release
        if release.exists():
            data["release"] = str(release)
            lines.append(f"Published: {release}")
        lines += [*spot_check_lines(turn), *findings_text.waiting(app.benchmark.findings)]
    out.result(data, *lines)


@turn_verbs.command("status")
def turn_status(home: Home = HOME, as_json: Json = False) -> None:
    """Show the turns that were made, the cohorts, and open reviews."""
    from quarterturn.cli.daily import findings_text, month_text
    from quarterturn.month import turn_status

    with open_app(home, keys=False) as app:
        data = turn_status.status(app.benchmark.months)
        lines = [
            *month_text.status_lines(data, app.benchmark.months.turns()),
            *findings_text.waiting(app.benchmark.findings),
        ]
    Output(as_json=as_json).result(data, *lines)


@release_verbs.command("path")
def release_path(
    month: Annotated[str, typer.Argument(help="YYYY-MM")], home: Home = HOME, as_json: Json = False
) -> None:
    """Show where the files of a month's release are. Writes those that are missing."""
    from rotation.calendar import Month

    parsed = Month.parse(month)
    with open_app(home) as app:
        release, signed = app.month.rotation.republish(parsed)
    folders = {"release": release, "signed": signed}
    lines = [f"{word}: {folder}" for word, folder in (("Published", release), ("Signed", signed)) if folder]
    Output(as_json=as_json).result({name: folder and str(folder) for name, folder in folders.items()}, *lines)
