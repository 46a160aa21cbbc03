"""Verbs of the month: the turn, what it publishes, and runs."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home, Json, Who
from quarterturn.cli.output import Output
from quarterturn.errors import Malformed


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    turn = typer.Typer(no_args_is_help=True, help="The monthly turn: a cohort leaves, another enters.")
    turn.command("plan")(turn_plan)
    turn.command("run")(turn_run)
    turn.command("status")(turn_status)
    app.add_typer(turn, name="turn")
    app.command("publish")(publish)
    app.command("run")(run)


def turn_plan(home: Home = HOME, as_json: Json = False) -> None:
    """Say what the next turn would do; changes nothing."""
    from quarterturn.cli.secrets import open_house
    from rotation.calendar import Month

    house = open_house(home)
    month = house.rotation.next_month(Month.parse(house.settings.benchmark.first_month))
    plan = house.rotation.plan(month)
    entering = {str(retires): len(tasks) for retires, tasks in plan.enter.items()}
    retiring = plan.retire.id if plan.retire else None
    data = {"month": str(month), "retire": retiring, "enter": entering}
    Output(as_json=as_json).result(
        data,
        f"The turn of {month}: "
        + (f"{retiring} retires ({len(plan.retire.tasks)} tasks)" if plan.retire else "the first"),
        *(f"{count} tasks enter and retire at the turn of {retires}" for retires, count in entering.items()),
    )


def turn_run(
    month: Annotated[str | None, typer.Option(help="Which turn (default: the next).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Run the next turn, or finish the one that was begun."""
    from quarterturn.cli.secrets import open_house
    from rotation.calendar import Month
    from rotation.turn import STEPS

    house = open_house(home)
    first = Month.parse(house.settings.benchmark.first_month)
    chosen = Month.parse(month) if month else house.rotation.next_month(first)
    out = Output(as_json=as_json)
    with out.progress(f"turn of {chosen}", len(STEPS)) as advance:
        turn = house.rotation.run(chosen, lambda _: advance(1))
    live = sum(len(cohort.tasks) for cohort in house.months.cohorts("live"))
    release = house.public / "releases" / chosen.release
    data = {"month": str(chosen), "steps": list(turn.done), "live": live}
    out.result(
        data | ({"release": str(release)} if release.exists() else {}),
        f"The turn of {chosen} is done; {live} tasks are live.",
        *([f"Published: {release}"] if release.exists() else []),
    )


def turn_status(home: Home = HOME, as_json: Json = False) -> None:
    """Say which turns were made and which cohorts are live."""
    from quarterturn.cli.secrets import open_house

    house = open_house(home)
    turns = [{"month": str(t.month), "finished": t.finished, "steps": list(t.done)} for t in house.months.turns()]
    cohorts = [
        {"id": c.id, "state": c.state, "entered": str(c.entered), "retires": str(c.retires), "tasks": len(c.tasks)}
        for c in house.months.cohorts()
    ]
    Output(as_json=as_json).result(
        {"turns": turns, "cohorts": cohorts},
        *(f"turn {t['month']}: {'done' if t['finished'] else 'unfinished: run it again'}" for t in turns),
        *(f"{c['id']}  {c['state']:<10} {c['tasks']} tasks, retires at the turn of {c['retires']}" for c in cohorts),
    )


def publish(month: Annotated[str, typer.Argument(help="YYYY-MM")], home: Home = HOME, as_json: Json = False) -> None:
    """Say where a month was published, writing the release again if it is missing."""
    from quarterturn.cli.secrets import open_house
    from rotation.calendar import Month

    house = open_house(home)
    folder = house.rotation.republish(Month.parse(month))
    Output(as_json=as_json).result({"release": str(folder)}, f"Published: {folder}")


def run(
    who: Who,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    agent: Annotated[str | None, typer.Option(help="A command line, run in the bwrap box.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="A hosted endpoint.")] = None,
    tasks: Annotated[str, typer.Option("--set", help="dev or private.")] = "dev",
    box: Annotated[str | None, typer.Option(help="docker or bwrap (default: the home's setting).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Run an agent behind the wall and score it."""
    from quarterturn import running
    from quarterturn.errors import Refused

    if sum(option is not None for option in (image, agent, endpoint)) != 1:
        raise Malformed("name one of --image, --agent and --endpoint")
    if endpoint is not None:
        raise Refused("hosted endpoints are not served yet; submit a Docker image with --image")
    if tasks not in ("dev", "private"):
        raise Malformed(f"--set {tasks}: there are the sets dev and private")
    out = Output(as_json=as_json)
    chosen = running.Choice(image, agent, who, box)
    if tasks == "dev":
        report = running.dev(chosen, out)
    else:
        from quarterturn.cli.secrets import open_house

        report = running.private(open_house(home), chosen, out)
    out.result(report.data, *report.lines)
