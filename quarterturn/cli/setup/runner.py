"""Verbs of runners: the program that plays servings for a service elsewhere, and the service's list of runners."""

from __future__ import annotations

import os
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.choices import BoxName, WorkerClass
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, Refused

if TYPE_CHECKING:
    from quarterturn.runners.service import PlayedServing
    from quarterturn.runners.store import RunnerRecord, ServingRecord

DAYS = 90
SPOOL = Path("/var/lib/quarterturn-runner")

verbs = typer.Typer(name="runner", help="Machines that play submissions without a key.")
Name = Annotated[str, typer.Argument(help="The runner's name, a pseudonym.")]


@verbs.command("start")
def start(
    to: Annotated[
        str, typer.Option("--to", envvar="QUARTERTURN_SERVICE", help="The address of the service, https://NAME.")
    ],
    spool: Annotated[Path, typer.Option(help="A folder for what was played and not handed in yet, sealed.")] = SPOOL,
    only: Annotated[WorkerClass, typer.Option(help="The class of runs that it plays.")] = "sealed",
    box: Annotated[BoxName, typer.Option(help="The sandbox.")] = "auto",
    places: Annotated[int, typer.Option(min=1, max=64, help="How many servings to play at a time.")] = 2,
    servers: Annotated[
        Path | None, typer.Option(help="A folder with the servers that the home has added: a copy of its `servers`.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file of mode 600 with its token (default: QUARTERTURN_TOKEN, or a prompt).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate to show, with its key (PEM), where the service asks for one.")
    ] = None,
) -> None:
    """Play servings for a service, without a home. Ends when it is interrupted; what it plays then goes on."""
    from quarterturn import logs
    from quarterturn.boxes import choose_box
    from quarterturn.cli.setup import end_signals
    from quarterturn.cli.terminal.secrets import api_token
    from quarterturn.client.runner import RunnerClient
    from quarterturn.runners.programs import digests_of_servers
    from quarterturn.servers.home_servers import HomeServers
    from sandbox.attacks import selfcheck
    from sandbox.isolation import machine_lock
    from sandbox.servings.relayed_model import ServiceAddress
    from sandbox.servings.runner import Runner
    from sandbox.servings.spool import Spool
    from sandbox.servings.supervisor import Supervisors

    own = choose_box(box, run_class=only)
    if escaped := [attempt.name for attempt in selfcheck(own) if attempt.outcome == "escaped"]:
        raise Refused(f"the {own.name} box lets these out: {', '.join(escaped)}. Nothing is played in it")
    if servers is not None:
        servers = servers.resolve()
        HomeServers(servers).make_ready(own.name, Output(as_json=False).say)
    about = {"box": own.name, "run_class": only, "places": places, "servers": digests_of_servers()}
    trusted = os.environ.get("SSL_CERT_FILE")
    service = ServiceAddress(to, *(str(Path(file).resolve()) if file else "" for file in (trusted, certificate)))
    try:
        client = RunnerClient(to, api_token(token_file), tls=service.tls())
    except ValueError as error:
        raise Malformed(f"{error} (--to, --token-file)") from None
    logs.configure()
    stopping = threading.Event()
    with client, end_signals.set_by_signals(stopping), machine_lock.playing(only, stopping.is_set) as lock:
        supervisors = Supervisors(own.name, only, machine_lock=lock, servers=servers, service=service)
        logs.log.info("playing %s runs for %s in the box %s", only, to, own.name)
        own_spool = Spool(spool)
        Runner(client, own_spool, about, supervisors, places=places).run(stopping)
        own_spool.note_stop()
        logs.log.info("stopping; what is played goes on, and the next start hands it in")
        supervisors.close()


@verbs.command("add")
def add(
    name: Name,
    days: Annotated[int, typer.Option(help="Days until its token expires, at most 366.")] = DAYS,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Add a runner, and print its token this once; only its hash is stored."""
    with open_app(home) as app:
        token = app.runners.store.add(name, days)
    out = Output(as_json=as_json)
    if not as_json:
        out.say(f"the token of {name}, for `quarterturn runner start --to URL --token-file FILE` on its machine:")
    out.result({"name": name, "token": token}, token)


@verbs.command("list")
def list_runners(home: Home = HOME, as_json: Json = False) -> None:
    """List the runners with box, class, and when each was last heard of."""
    with open_app(home) as app:
        runners = app.runners.store.list()
    lines = [_line(runner) for runner in runners] or ["there is no runner yet: `quarterturn runner add NAME`"]
    Output(as_json=as_json).result([_plain(runner) for runner in runners], *lines)


@verbs.command("revoke")
def revoke(name: Name, home: Home = HOME, as_json: Json = False) -> None:
    """Put a runner out, and list what it was served of official runs, and which results came of that."""
    with open_app(home) as app:
        played = app.runners.service.revoke(name)
    lines = [_played_line(entry) for entry in played]
    results = sum(entry.gave_result for entry in played)
    summary = f"{name} is revoked; it was served {len(played)} tasks, and {results} results are from it"
    document = [_played_document(entry) for entry in played]
    Output(as_json=as_json).result(document, *lines, summary + (": see above" if played else ""))


def _plain(record: RunnerRecord | ServingRecord) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in asdict(record).items()}


def _played_document(entry: PlayedServing) -> dict[str, Any]:
    row = _plain(entry.serving) if entry.serving else {"run": entry.run, "task": entry.task}
    return {**row, "gave_result": entry.gave_result, "sealed_as": entry.sealed_as, "has_row": bool(entry.serving)}


def _played_line(entry: PlayedServing) -> str:
    started = f"{entry.serving.started_at:%Y-%m-%d %H:%M}" if entry.serving else "no row of it"
    result = "its result counts" if entry.gave_result else "no result of it"
    if entry.serving is None:
        result += ": the sealed result names this runner, so its row was changed or taken away"
    elif entry.sealed_as:
        result += f": the sealed result names {entry.sealed_as}"
    return f"run {entry.run}  {entry.task}  {started}  {result}"


def _line(runner: RunnerRecord) -> str:
    if runner.box is None:
        return f"{runner.name}  not registered"
    seen = f"{runner.seen_at:%Y-%m-%d %H:%M:%S}" if runner.seen_at else "never"
    return f"{runner.name}  {runner.box}, {runner.run_class} runs, {runner.places} at a time, last heard of {seen}"
