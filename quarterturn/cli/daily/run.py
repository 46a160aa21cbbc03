"""Verb `run`: runs an agent in the sandbox, on the dev set or on the private set."""

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
    from sandbox.endpoint.signature import Sender
    from vault.task.document import Task


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(run)


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
    from quarterturn.cli.daily import run_text
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.runs import dev_runs
    from quarterturn.runs.hosted_endpoint import Hosting
    from quarterturn.runs.request import RunControl, RunRequest
    from rotation.calendar import Month

    allow = tuple(test_allow or ())
    hosting = Hosting(endpoint, listen, public_url, allow, test_authority) if endpoint is not None else None
    chosen = RunRequest(image, agent, who, box, hosting, model)
    out = Output(as_json=as_json)
    if tasks == "private" and dev_of is not None:
        raise Malformed("--dev-of chooses among dev sets: leave it out, or --set private")
    if tasks == "dev" and resume is not None:
        raise Malformed("--resume is for a private run: add --set private")
    if tasks == "dev" and model is not None:  # without one, the dev set needs no home
        with open_app(home) as app, app.facilities.model(model, "dev") as gateway:
            played = dev_runs.dev(chosen, _dev_tasks(home, dev_of), out, model=gateway)
        out.result(played.as_json(), *run_text.dev(played))
    elif tasks == "dev":
        played = dev_runs.dev(chosen, _dev_tasks(home, dev_of), out, partial(_sender, home, out))
        out.result(played.as_json(), *run_text.dev(played))
    else:
        with open_app(home) as app:
            record, used = app.private_runs.run(chosen, out, RunControl(resume))
            disclosed, public = (
                app.scores.disclosed(record.number),
                app.caveats.public_cohorts(Month.parse(record.month)),
            )
        data, lines = run_text.private(record, used.name, disclosed or {}, public)
        out.result(data, *lines)


def _dev_tasks(home: Path, name: str | None) -> list[Task]:
    """Give the dev tasks of the set that was named, else of the home's, else of the demo."""
    from quarterturn import settings
    from quarterturn.home.paths import HomePaths
    from rotation.generation import dev_sets
    from rotation.generation.grammars import shipped_grammars
    from rotation.month.sets import DEMO, named

    place = HomePaths(home).settings
    if name is None and place.is_file():
        name = settings.load(place).benchmark.set
    return dev_sets.tasks(shipped_grammars(), named(name) if name is not None else DEMO)


def _sender(home: Path, out: Output) -> Sender:
    """Give the home's request signer, or without a home a temporary one, whose public key is printed."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.home.paths import HomePaths
    from quarterturn.runs.hosted_endpoint import ephemeral

    if HomePaths(home).settings.is_file():
        with open_app(home) as app:
            return app.sender
    sender = ephemeral()
    out.say(f"Requests are signed with a temporary key; its public key:\n{sender.public_pem}")
    return sender
