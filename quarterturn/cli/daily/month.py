"""Verbs of the benchmark month: `turn`, `release` and `run`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.choices import LISTEN, TaskSet
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from rotation.month.sets import SetSpec
    from sandbox.endpoint import Sender


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    turn = typer.Typer(help="The monthly turn: one cohort retires, another goes live.")
    turn.command("plan")(turn_plan)
    turn.command("run")(turn_run)
    turn.command("status")(turn_status)
    release = typer.Typer(help="Releases: what a turn published of a month.")
    release.command("path")(release_path)
    app.command("run")(run)
    app.add_typer(turn, name="turn")
    app.add_typer(release, name="release")


def turn_plan(home: Home = HOME, as_json: Json = False) -> None:
    """Show what the next turn would do; changes nothing."""
    from quarterturn.cli.daily import month_text
    from quarterturn.cli.terminal.secrets import open_app

    with open_app(home) as house:
        planned = house.turn_preview.plan()
    Output(as_json=as_json).result(month_text.planned_row(planned), *month_text.planned_lines(planned))


def turn_run(
    month: Annotated[str | None, typer.Option(help="Which turn (default: the next).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make the next turn, or resume the one that was begun."""
    from quarterturn.cli.daily import findings_text
    from quarterturn.cli.terminal.secrets import open_app
    from rotation.turn import spot_check

    out = Output(as_json=as_json)
    with open_app(home) as house:
        turn = house.monthly_turns.run(month, out)
        live = sum(len(cohort.tasks) for cohort in house.months.cohorts("live"))
        data = {"month": str(turn.month), "steps": list(turn.done), "live": live}
        lines = [f"The turn of {turn.month} is done; {live} tasks are live."]
        release = house.places.releases / turn.month.release
        if release.exists():
            data["release"] = str(release)
            lines.append(f"Published: {release}")
        lines += [*spot_check.summary_lines(turn), *findings_text.waiting(house.findings)]
    out.result(data, *lines)


def turn_status(home: Home = HOME, as_json: Json = False) -> None:
    """Show the turns that were made, the cohorts, and open reviews."""
    from quarterturn.cli.daily import findings_text, month_text
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.month import turn_status

    with open_app(home) as house:
        data = turn_status.status(house.months)
        lines = [*month_text.status_lines(data, house.months.turns()), *findings_text.waiting(house.findings)]
    Output(as_json=as_json).result(data, *lines)


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


def run(
    who: Who,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    agent: Annotated[str | None, typer.Option(help="A command; it can read only its own folder.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="The URL of a hosted agent; each task is sent to it.")] = None,
    tasks: Annotated[TaskSet, typer.Option("--set", help="The public dev set, or the private set.")] = "dev",
    dev_of: Annotated[
        str | None, typer.Option("--dev-of", help="Which dev set: demo or mcpbench (default: the home's, else demo).")
    ] = None,
    box: Box = None,
    model: Annotated[
        str | None, typer.Option(help="A language model of the home's settings that the agent may use.")
    ] = None,
    resume: Annotated[
        int | None, typer.Option(help="Resume the private run of this number: play the tasks not served yet.")
    ] = None,
    listen: Annotated[str, typer.Option(help="Where to listen for an endpoint's callbacks, ADDRESS:PORT.")] = LISTEN,
    public_url: Annotated[str | None, typer.Option(help="The https URL that reaches --listen from outside.")] = None,
    test_allow: Annotated[
        list[str] | None, typer.Option(help="For tests: a range of addresses that an endpoint may have.")
    ] = None,
    test_authority: Annotated[Path | None, typer.Option(help="For tests: extra trusted certificates (PEM).")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Run an agent in the sandbox, or a hosted one, and score it."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.runs import models, running
    from quarterturn.runs.hosted_endpoint import Hosting

    allow = tuple(test_allow or ())
    hosting = Hosting(endpoint, listen, public_url, allow, test_authority) if endpoint is not None else None
    chosen = running.RunRequest(image, agent, who, box, hosting, model)
    out = Output(as_json=as_json)
    if tasks == "private" and dev_of is not None:
        raise Malformed("--dev-of chooses among dev sets: leave it out, or --set private")
    if tasks == "dev" and resume is not None:
        raise Malformed("--resume is for a private run: add --set private")
    if tasks == "dev" and model is not None:  # without one, the dev set needs no home
        with open_app(home) as house, models.gateway(house, model, "dev") as asked:
            report = running.dev(chosen, out, model=asked, spec=_dev_set(home, dev_of))
    elif tasks == "dev":
        report = running.dev(chosen, out, partial(_sender, home, out), spec=_dev_set(home, dev_of))
    else:
        with open_app(home) as house:
            report = running.private(house, chosen, out, running.RunControl(resume))
    out.result(report.data, *report.lines)


def _dev_set(home: Path, name: str | None) -> SetSpec:
    """Give the set whose dev tasks are run: the one that was named, else the home's, else the demo."""
    from quarterturn import settings
    from quarterturn.home.home import HomePaths
    from rotation.month.sets import DEMO, named

    place = HomePaths(home).settings
    if name is None and place.is_file():
        name = settings.load(place).benchmark.set
    return named(name) if name is not None else DEMO


def _sender(home: Path, out: Output) -> Sender:
    """Give the home's request signer, or without a home a temporary one, whose public key is printed."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.home.home import HomePaths
    from quarterturn.runs.hosted_endpoint import ephemeral

    if HomePaths(home).settings.is_file():
        with open_app(home) as house:
            return house.sender
    sender = ephemeral()
    out.say(f"Requests are signed with a temporary key; its public key:\n{sender.public_pem}")
    return sender
