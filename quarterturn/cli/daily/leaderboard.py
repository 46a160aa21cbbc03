"""Verb `leaderboard`: the leaderboard of a month."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app

verbs = typer.Typer()


@verbs.command("leaderboard")
def leaderboard(
    month: Annotated[str | None, typer.Option(help="YYYY-MM (default: the month that is live).")] = None,
    linked: Annotated[bool, typer.Option("--linked", help="Add linked scores, which compare months.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show a month's runs with figures, intervals and ranks."""
    from quarterturn.cli.daily import leaderboard_text
    from rotation.calendar import Month

    asked = Month.parse(month) if month else None
    with open_app(home) as app:
        if asked:
            app.benchmark.calendar.require_begun(asked)
        chosen = asked or app.benchmark.months.live_month()
        lines, public = app.runs.leaderboard.of_month(chosen), app.runs.caveats.public_cohorts(chosen)
        scores = app.detection.linked_scores(chosen) if linked else None
        names = app.submissions.display_names.shown()
    data: list[dict[str, Any]] = [
        line.as_json() | {"display_name": names.get((line.submitter, line.name)), "public_grammar": public}
        for line in lines
    ]
    text = [*leaderboard_text.table(lines, names), *leaderboard_text.public_grammar(public)]
    if scores is not None:
        data = [line | {"compared": scores.get(line["run"])} for line in data]
        text += ["", *leaderboard_text.linked_lines(lines, scores, names)]
    Output(as_json=as_json).result(data, *text)
