"""Verbs of language-model upstreams: list them, enter their keys, check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import TaskSet
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output

For = Annotated[TaskSet, typer.Option("--for", help="The kind of runs that use the key: dev or private.")]
Name = Annotated[str, typer.Argument(help="The upstream's name in the settings, [models.NAME].")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    model = typer.Typer(help="Language models that agents may use.")
    model.command("list")(list_models)
    model.command("key")(enter_key)
    model.command("check")(check)
    app.add_typer(model, name="model")


def list_models(home: Home = HOME, as_json: Json = False) -> None:
    """List the upstreams that the settings allow, and for which runs each has a key."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.runs import models

    with open_app(home) as house:
        report = models.listing(house)
    Output(as_json=as_json).result(report.data, *report.lines)


def enter_key(
    name: Name,
    tasks: For,
    file: Annotated[
        Path | None, typer.Option(help="A file of mode 600 that holds the key (default: prompt for it).")
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Enter an upstream's API key, which is sealed in the home; it is never an argument."""
    from quarterturn.cli.terminal.secrets import key_from, open_app
    from quarterturn.runs import models

    with open_app(home) as house:
        models.upstream(house, name)
        models.keep_key(house, name, tasks, key_from(file, f"Key of {name} for {tasks} runs: "))
    Output(as_json=as_json).result({"name": name, "for": tasks}, f"The key of {name} for {tasks} runs is sealed.")


def check(name: Name, tasks: For = "dev", home: Home = HOME, as_json: Json = False) -> None:
    """Send each model of an upstream a test request, with the key of these runs."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.runs import models

    with open_app(home) as house:
        report = models.check(house, name, tasks)
    Output(as_json=as_json).result(report.data, *report.lines, ok=report.ok)
