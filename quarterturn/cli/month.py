"""Verbs of the month: the turn, what it publishes, and runs."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.choices import TaskSet
from quarterturn.cli.options import HOME, Box, Home, Json, Who
from quarterturn.cli.output import Output


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    turn = typer.Typer(help="The monthly turn: a cohort leaves, another enters.")
    turn.command("plan")(turn_plan)
    turn.command("run")(turn_run)
    turn.command("status")(turn_status)
    app.add_typer(turn, name="turn")
    app.command("publish")(publish)
    app.command("run")(run)


def turn_plan(home: Home = HOME, as_json: Json = False) -> None:
    """Say what the next turn would do; changes nothing."""
    from quarterturn import turning
    from quarterturn.cli.secrets import open_house

    with open_house(home) as house:
        planned = turning.plan(house)
    Output(as_json=as_json).result(planned.data, *planned.lines)


def turn_run(
    month: Annotated[str | None, typer.Option(help="Which turn (default: the next).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Run the next turn, or finish the one that was begun."""
    from quarterturn import turning
    from quarterturn.cli.secrets import open_house

    out = Output(as_json=as_json)
    with open_house(home) as house:
        turned = turning.run(house, month, out)
    out.result(turned.data, *turned.lines)


def turn_status(home: Home = HOME, as_json: Json = False) -> None:
    """Say which turns were made and which cohorts are live."""
    from quarterturn import turning
    from quarterturn.cli.secrets import open_house

    with open_house(home) as house:
        found = turning.status(house)
    Output(as_json=as_json).result(found.data, *found.lines)


def publish(month: Annotated[str, typer.Argument(help="YYYY-MM")], home: Home = HOME, as_json: Json = False) -> None:
    """Say where a month was published, writing the release again if it is missing."""
    from quarterturn.cli.secrets import open_house
    from rotation.calendar import Month

    parsed = Month.parse(month)
    with open_house(home) as house:
        folder = house.rotation.republish(parsed)
    Output(as_json=as_json).result({"release": str(folder)}, f"Published: {folder}")


def run(
    who: Who,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    agent: Annotated[str | None, typer.Option(help="A command line; its folder is all that it can read.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="A hosted endpoint.")] = None,
    tasks: Annotated[TaskSet, typer.Option("--set", help="The public dev set, or the live one.")] = "dev",
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Run an agent behind the wall and score it."""
    from quarterturn import running
    from quarterturn.cli.secrets import open_house
    from quarterturn.errors import Malformed, Refused

    if sum(option is not None for option in (image, agent, endpoint)) != 1:
        raise Malformed("name one of --image, --agent and --endpoint")
    if endpoint is not None:
        raise Refused("hosted endpoints are not served yet; submit a Docker image with --image")
    chosen = running.Choice(image, agent, who, box)
    out = Output(as_json=as_json)
    if tasks == "dev":
        report = running.dev(chosen, out)
    else:
        with open_house(home) as house:
            report = running.private(house, chosen, out)
    out.result(report.data, *report.lines)
