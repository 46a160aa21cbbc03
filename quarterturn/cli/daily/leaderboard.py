"""Verb `leaderboard`: the leaderboard of a month."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("leaderboard")(leaderboard)


def leaderboard(
    month: Annotated[str | None, typer.Option(help="YYYY-MM (default: the month that is live).")] = None,
    linked: Annotated[bool, typer.Option("--linked", help="Add linked scores, which compare months.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show a month's runs with figures, intervals and ranks."""
    from quarterturn.cli.terminal.secrets import open_app
    from rotation.calendar import Month
    from rotation.leaderboard import caveats, linked_scores, standings

    asked = Month.parse(month) if month else None
    with open_app(home) as house:
        chosen = asked or house.official.month()
        lines, public = standings.of_month(house, chosen), caveats.public_cohorts(house, chosen)
        scores = linked_scores.of_month(house, chosen) if linked else None
    data: list[dict[str, Any]] = [line.as_json() | {"public_grammar": public} for line in lines]
    text = [*standings.table(lines), *caveats.lines(public)]
    if scores is not None:
        data = [line | {"compared": scores.get(line["run"])} for line in data]
        text += ["", *linked_scores.lines(lines, scores)]
    Output(as_json=as_json).result(data, *text)
