"""Verbs of the benchmark month: `turn` and `release`."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    turn = typer.Typer(help="The monthly turn: one cohort retires, another goes live.")
    turn.command("plan")(turn_plan)
    turn.command("run")(turn_run)
    turn.command("status")(turn_status)
    release = typer.Typer(help="Releases: what a turn published of a month.")
    release.command("path")(release_path)
    app.add_typer(turn, name="turn")
    app.add_typer(release, name="release")


def turn_plan(home: Home = HOME, as_json: Json = False) -> None:
    """Show what the next turn would do; changes nothing."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.month import monthly_turn

    with open_app(home) as house:
        planned = monthly_turn.plan(house)
    Output(as_json=as_json).result(planned.data, *planned.lines)


def turn_run(
    month: Annotated[str | None, typer.Option(help="Which turn (default: the next).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make the next turn, or resume the one that was begun."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.month import monthly_turn

    out = Output(as_json=as_json)
    with open_app(home) as house:
        turned = monthly_turn.run(house, month, out)
    out.result(turned.data, *turned.lines)


def turn_status(home: Home = HOME, as_json: Json = False) -> None:
    """Show the turns that were made, the cohorts, and open reviews."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.month import monthly_turn

    with open_app(home) as house:
        report = monthly_turn.status(house)
    Output(as_json=as_json).result(report.data, *report.lines)


def release_path(
    month: Annotated[str, typer.Argument(help="YYYY-MM")], home: Home = HOME, as_json: Json = False
) -> None:
    """Show where the files of a month's release are. Writes those that are missing."""
    from quarterturn.cli.terminal.secrets import open_app
    from rotation.calendar import Month

    parsed = Month.parse(month)
    with open_app(home) as house:
        release, signed = house.rotation.republish(parsed)
    folders = {"release": release, "signed": signed}
    lines = [f"{word}: {folder}" for word, folder in (("Published", release), ("Signed", signed)) if folder]
    Output(as_json=as_json).result({name: folder and str(folder) for name, folder in folders.items()}, *lines)
