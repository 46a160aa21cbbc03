"""Verb `run`: runs an agent in the sandbox, on the dev set or on the private set."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.choices import LISTEN, TaskSet
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, NotFound, Unavailable

if TYPE_CHECKING:
    from quarterturn.runs.dev_runs import DevRun
    from rotation.month.sets import SetSpec
    from sandbox.endpoint.signature import Sender
    from sandbox.runs.run import Terms
    from vault.task.document import Task

TASK_ID = re.compile(r"t-[a-z2-7]{0,16}")
"""The id of a task, or how it begins."""
TRIALS = 20
"""Trials of a dev set at most: Pass@K is shown for K up to their number."""


verbs = typer.Typer()


@verbs.command("run")
def run(
    who: Who,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    agent: Annotated[str | None, typer.Option(help="A command; it can read only its own folder.")] = None,
    packages: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Packages for --agent, read-only beside its files: node_modules, or Python's."
        ),
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help="The URL of a hosted agent; each task is sent to it.")] = None,
    tasks: Annotated[TaskSet, typer.Option("--set", help="The public dev set, or the private set.")] = "dev",
    dev_of: Annotated[
        str | None,
        typer.Option("--dev-of", help="The dev set of a shipped set or a set file (default: the home's, else demo)."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task", metavar="ID", help="Play this task of the dev set: its id, or how it begins; may repeat."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Play the first N tasks of the dev set alone.")] = None,
    trials: Annotated[int, typer.Option(min=1, max=TRIALS, help="Play each task of the dev set so many times.")] = 1,
    all_tools: Annotated[
        bool, typer.Option("--all-tools", help="Offer the tools of all servers of the set, not of the dev task alone.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show each task of the dev set call by call.")] = False,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", dir_okay=False, help="Write the traces to a file: JSON if it ends in .json, else text."),
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
    from quarterturn.runs import dev_runs
    from quarterturn.runs.hosted_endpoint import Hosting
    from quarterturn.runs.request import RunRequest
    from rotation.calendar import Month

    allow = tuple(test_allow or ())
    hosting = Hosting(endpoint, listen, public_url, allow, test_authority) if endpoint is not None else None
    chosen = RunRequest(image, agent, who, box, hosting, model, packages)
    out = Output(as_json=as_json)
    if tasks == "private" and (dev_of or task or limit or trials > 1 or all_tools or trace or out_file):
        raise Malformed(
            "--dev-of, --task, --limit, --trials, --all-tools, --trace and --out are for the dev set; a private run "
            "has none of them"
        )
    for begins in task or ():
        if not TASK_ID.fullmatch(begins):
            raise Malformed(f"--task '{begins}' is no id of a task, t- and 16 of a to z and 2 to 7, and begins none")
    for name, is_given in (("--listen", listen != LISTEN), ("--public-url", public_url is not None)):
        if is_given and endpoint is None:
            raise Malformed(f"{name} belongs to --endpoint, which is not given")
    if out_file is not None:
        _require_writable(out_file)
    if tasks == "dev" and resume is not None:
        raise Malformed("--resume is for a private run: add --set private")
    if tasks == "dev" and model is not None:  # without one, the dev set needs no home
        with open_app(home) as app, app.keys.models.gateway(model, "dev") as gateway:
            prepared = dev_runs.prepare(chosen)
            chosen_tasks = _chosen(_dev_tasks(home, dev_of, out), task, limit)
            terms = app.execution.private_runs.terms(gateway)
            if all_tools:
                terms = replace(terms, offered_tools=_offered_tools(home, dev_of))
            played = dev_runs.dev(chosen, chosen_tasks, out, terms=terms, trials=trials, prepared=prepared)
        _show(played, out, out_file, traced=trace)
    elif tasks == "dev":
        prepared = dev_runs.prepare(chosen)
        chosen_tasks = _chosen(_dev_tasks(home, dev_of, out), task, limit)
        sender = partial(_sender, home, out)
        terms = _terms(home)
        if all_tools:
            terms = replace(terms, offered_tools=_offered_tools(home, dev_of))
        played = dev_runs.dev(chosen, chosen_tasks, out, sender, terms=terms, trials=trials, prepared=prepared)
        _show(played, out, out_file, traced=trace)
    else:
        with open_app(home) as app:
            record, used = app.execution.private_runs.run(chosen, out, resume)
            disclosed, public = (
                app.runs.scores.disclosed(record.number),
                app.runs.caveats.public_cohorts(Month.parse(record.month)),
            )
        data, lines = run_text.private(record, used.name, disclosed or {}, public)
        out.result(data, *lines)


def _chosen(tasks: Sequence[Task], beginnings: Sequence[str] | None, limit: int | None) -> Sequence[Task]:
    """Choose the tasks of the named ids in that order, or the first ones."""
    chosen: dict[str, Task] = {}
    for begins in beginnings or ():
        named = {task.id: task for task in tasks if task.id.startswith(begins)}
        if len(named) != 1:
            several = f"{len(named)} tasks of the dev set begin with" if named else "no task of the dev set has the id"
            raise NotFound(f"{several} '{begins}'; the ids are in what a run without --task prints")
        chosen |= named
    return (list(chosen.values()) if chosen else tasks)[:limit]


def _require_writable(file: Path) -> None:
    """Refuse a file for the traces that could not be written, before anything is played."""
    from vault.files import make_folder

    make_folder(file.parent)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise Unavailable(f"--out {file} cannot be written: this user may not write into {file.parent}; name another")


def _show(played: DevRun, out: Output, file: Path | None, *, traced: bool) -> None:
    """Print a dev run, and write its traces to a file."""
    from quarterturn.cli.daily import run_text
    from vault.files import write_atomically

    if file is not None:
        as_json = file.suffix == ".json"
        text = json.dumps(played.as_json(), indent=1) if as_json else "\n".join(run_text.dev(played, traced=True))
        write_atomically(file, f"{text}\n".encode(), file.with_name(f".{file.name}.part"))
    out.result(played.as_json(), *run_text.dev(played, traced=traced), ok=played.stopped is None)


def _dev_tasks(home: Path, name: str | None, out: Output) -> list[Task]:
    """Draw the dev tasks of the set that was named, else of the home's, else of the demo."""
    from rotation.generation import shipped_dev_sets

    chosen_set = dev_set(home, name)
    out.say(f"drawing the tasks of the dev set of {chosen_set.name}")
    return shipped_dev_sets.tasks(chosen_set)


def _offered_tools(home: Path, name: str | None) -> Sequence[str]:
    """Return the names of all tools of the set's servers; those that the home has added are known then.

    Raises:
        NotFound: a server of the set is neither shipped nor the home's.
    """
    from quarterturn.home.paths import HomePaths
    from sandbox.servers.added_servers import register_added
    from sandbox.servers.registry import names_of_tools

    register_added(HomePaths(home).servers)
    return names_of_tools(dev_set(home, name).servers)


def dev_set(home: Path, name: str | None) -> SetSpec:
    """Return the set that was named, else the home's, else the demo's."""
    from quarterturn import settings
    from quarterturn.home.benchmark_set import of_home
    from quarterturn.home.paths import HomePaths
    from rotation.month.sets import DEMO, chosen

    places = HomePaths(home)
    if name is None and places.settings.is_file():
        return of_home(places, settings.load(places.settings).benchmark.set)
    return chosen(name) if name is not None else DEMO


def _terms(home: Path) -> Terms:
    """Return the terms of runs without a model: the home's time for a task, where there is a home."""
    from quarterturn import settings
    from quarterturn.home.paths import HomePaths
    from sandbox.boxes.box import ResourceLimits
    from sandbox.runs.run import Terms

    file = HomePaths(home).settings
    return Terms(agent=ResourceLimits(wall=settings.load(file).run.wall_seconds)) if file.is_file() else Terms()


def _sender(home: Path, out: Output) -> Sender:
    """Return the home's request signer, or without a home a temporary one, whose public key is printed."""
    from quarterturn.home.paths import HomePaths
    from quarterturn.runs.hosted_endpoint import ephemeral

    if HomePaths(home).settings.is_file():
        with open_app(home) as app:
            return app.keys.sender
    sender = ephemeral()
    out.say(f"Requests are signed with a temporary key; its public key:\n{sender.public_pem}")
    return sender
