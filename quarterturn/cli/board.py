"""The board."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home, Json
from quarterturn.cli.output import Output


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("board")(board)


def board(
    month: Annotated[str | None, typer.Option(help="YYYY-MM (default: the month that is live).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show the month's runs with their figures, intervals and ranks."""
    from quarterturn import marks, standings
    from quarterturn.cli.secrets import open_house
    from rotation.calendar import Month

    asked = Month.parse(month) if month else None
    with open_house(home) as house:
        chosen = asked or house.official.month()
        lines, public = standings.of_month(house, chosen), marks.public_cohorts(house, chosen)
    data = [line.as_json() | {"public_grammar": public} for line in lines]
    Output(as_json=as_json).result(data, *standings.table(lines), *marks.lines(public))
