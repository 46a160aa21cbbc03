"""Verbs that make a home and look after it."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home, Json
from quarterturn.cli.output import Output


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("demo")(demo)
    app.command("init")(init)
    app.command("doctor")(doctor)
    keys = typer.Typer(no_args_is_help=True, help="The key ring.")
    keys.command("list")(keys_list)
    app.add_typer(keys, name="keys")
    access = typer.Typer(no_args_is_help=True, help="Who opened what, when and why.")
    access.command("log")(access_log)
    app.add_typer(access, name="access")


def demo(
    home: Annotated[
        str | None, typer.Option("--home", help="Where to keep what the demo makes (default: a temporary folder).")
    ] = None,
    box: Annotated[str | None, typer.Option(help="docker or bwrap (default: bwrap on Linux).")] = None,
    as_json: Json = False,
) -> None:
    """Play one whole benchmark month on real MCP servers, and audit what it publishes."""
    from pathlib import Path

    from quarterturn.demo import play

    played = play(Path(home) if home else None, box, Output(as_json=as_json))
    Output(as_json=as_json).result(played.data, *played.lines, ok=played.ok)
    if not played.ok:
        raise typer.Exit(1)


def init(
    month: Annotated[str | None, typer.Option(help="The first month, YYYY-MM (default: this one).")] = None,
    benchmark_set: Annotated[str, typer.Option("--set", help="Which set to run.")] = "demo",
    origin: Annotated[
        str, typer.Option(help="The log's name, a schema-less URL that you own.")
    ] = "quarterturn.example/log",
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Protect the key ring with a passphrase.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make a home: key ring, database, log and settings."""
    from quarterturn import clock
    from quarterturn.cli.secrets import new_passphrase
    from quarterturn.settings import Benchmark, Settings
    from quarterturn.wiring import create
    from rotation.calendar import Month
    from rotation.sets import named

    first = Month.parse(month) if month else Month.of(clock.now())
    spec = named(benchmark_set)
    chosen = Settings(benchmark=Benchmark(origin=origin, set=spec.name, first_month=str(first)))
    create(home, chosen, new_passphrase() if passphrase else None)
    data = {"home": str(home), "set": spec.name, "first_month": str(first), "key": str(home / "public" / "log.vkey")}
    Output(as_json=as_json).result(
        data,
        f"{home} is ready for the set '{spec.name}', first month {first}.",
        f"Publish the log's key: {data['key']}",
        "Next: quarterturn task admit, then quarterturn task review, then quarterturn turn run.",
    )


def doctor(
    attack: Annotated[bool, typer.Option("--attack", help="Run the attack suite inside a box.")] = False,
    box: Annotated[str, typer.Option(help="docker, bwrap or auto.")] = "auto",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Say what this machine has and lacks, and what works without it."""
    from quarterturn import checkup

    if attack:
        data, lines, ok = checkup.attack(box)
    else:
        data, lines, ok = checkup.machine(home)
    Output(as_json=as_json).result(data, *lines, ok=ok)
    if not ok:
        raise typer.Exit(1 if attack else 6)


def keys_list(home: Home = HOME, as_json: Json = False) -> None:
    """List the keys and what each protects."""
    from quarterturn.cli.secrets import open_house

    house = open_house(home)
    tasks = len(house.vault.records())
    data = {
        "ring": {"key_id": house.ring.key_id, "protects": f"{tasks} tasks and their evidence"},
        "log": {"vkey": (house.public / "log.vkey").read_text(encoding="utf-8").strip()},
    }
    Output(as_json=as_json).result(
        data, f"ring  {house.ring.key_id}  protects {tasks} tasks and their evidence", f"log   {data['log']['vkey']}"
    )


def access_log(
    verify: Annotated[bool, typer.Option("--verify", help="Check the chain of entries.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List every opening of a task or of sealed evidence."""
    from quarterturn.cli.secrets import open_house

    house = open_house(home)
    if verify:
        house.vault.verify_access_log()
    entries = house.vault.access_log()
    data = [{"at": e.at.isoformat(), "who": e.who, "what": e.what, "why": e.why} for e in entries]
    lines = [f"{row['at']}  {row['who']:<12} {row['what']:<28} {row['why']}" for row in data]
    Output(as_json=as_json).result(data, *lines, *([f"{len(data)} entries, the chain holds"] if verify else []))
