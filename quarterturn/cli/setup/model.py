"""Verbs of language-model upstreams: list them, enter their keys, check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import TaskSet
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import key_from, open_app

For = Annotated[TaskSet, typer.Option("--for", help="The kind of runs that use the key: dev or private.")]
Name = Annotated[str, typer.Argument(help="The upstream's name in the settings, [models.NAME].")]


verbs = typer.Typer(name="model", help="Language models that agents may use.")


@verbs.command("list")
def list_models(home: Home = HOME, as_json: Json = False) -> None:
    """List the upstreams that the settings allow, and for which runs each has a key."""
    data, lines = [], []
    with open_app(home) as app:
        for name, model in sorted(app.home.settings.models.items()):
            keys, named = app.keys.models.has_keys_for(name), ", ".join(model.models)
            data.append({"name": name, **model.model_dump(mode="json"), "keys": keys})
            lines.append(
                f"{name:<16} {model.wire:<10} {model.url}  {named}  keys for {' and '.join(keys) or 'nothing'}"
            )
    Output(as_json=as_json).result(data, *(lines or ["the settings allow no model"]))


@verbs.command("key")
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
    with open_app(home) as app:
        app.keys.models.upstream(name)
        app.keys.models.keep_key(name, tasks, key_from(file, f"Key of {name} for {tasks} runs: "))
    Output(as_json=as_json).result({"name": name, "for": tasks}, f"The key of {name} for {tasks} runs is sealed.")


@verbs.command("check")
def check(name: Name, tasks: For = "dev", home: Home = HOME, as_json: Json = False) -> None:
    """Send each model of an upstream a test request, with the key of these runs."""
    with open_app(home) as app:
        answers = app.keys.models.check(name, tasks)
    lines = [f"{model:<32} {'answers' if ok else 'does not answer'}" for model, ok in answers.items()]
    Output(as_json=as_json).result({"name": name, "models": answers}, *lines, ok=all(answers.values()))
