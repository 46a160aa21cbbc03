"""Verbs that make a home and look after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import BoxName
from quarterturn.cli.exits import EXITS, NO
from quarterturn.cli.options import HOME, Home, Json
from quarterturn.cli.output import Output


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("demo")(demo)
    app.command("init")(init)
    app.command("doctor")(doctor)
    keys = typer.Typer(help="The key ring.")
    keys.command("list")(keys_list)
    app.add_typer(keys, name="keys")
    access = typer.Typer(help="Who opened what, when and why.")
    access.command("log")(access_log)
    app.add_typer(access, name="access")


def demo(
    home: Annotated[
        Path | None, typer.Option("--home", help="Where to keep what the demo makes (default: a temporary folder).")
    ] = None,
    box: Annotated[BoxName | None, typer.Option("--box", help="Where to run it (default: bwrap on Linux).")] = None,
    as_json: Json = False,
) -> None:
    """Play one whole benchmark month on real MCP servers, and audit what it publishes."""
    from quarterturn.demo import play

    out = Output(as_json=as_json)
    played = play(home, box, out)
    out.result(played.data, *played.lines, ok=played.ok)


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
    """Make a home: key ring, database, log and settings. Interrupted, the same command goes on."""
    from grammars.load import library
    from quarterturn import clock, settings
    from quarterturn.cli.secrets import database, new_passphrase
    from quarterturn.home import Places, create
    from rotation.calendar import Month
    from rotation.sets import named

    first = str(Month.parse(month) if month else Month.of(clock.now()))
    spec = named(benchmark_set)
    spec.require_grammars(library())
    benchmark = {"origin": origin, "set": spec.name, "first_month": first}
    chosen = settings.parse({"benchmark": benchmark}, "the new home's settings")
    create(home, chosen, new_passphrase() if passphrase else None, database())
    key = str(Places(home).log_vkey)
    Output(as_json=as_json).result(
        {"home": str(home), "set": spec.name, "first_month": first, "key": key},
        f"{home} is ready for the set '{spec.name}', first month {first}.",
        f"Publish the log's key: {key}",
        "Next: quarterturn task admit, then quarterturn task review, then quarterturn turn run.",
    )


def doctor(
    attack: Annotated[bool, typer.Option("--attack", help="Run the attack suite inside a box.")] = False,
    with_controls: Annotated[
        bool,
        typer.Option(
            "--with-controls", help="With --attack: make each attempt once more without what stops it (root)."
        ),
    ] = False,
    box: Annotated[BoxName, typer.Option("--box", help="Which box to attack.")] = "auto",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Say what this machine has and lacks, and what works without it."""
    from quarterturn import checkup
    from quarterturn.cli import secrets
    from quarterturn.errors import Malformed

    if with_controls and not attack:
        raise Malformed("--with-controls belongs to --attack: give both")
    out = Output(as_json=as_json)
    if attack:
        found = checkup.attack(box, out, controls=with_controls)
    else:
        found = checkup.machine(home, secrets.database(), secrets.passphrase())
    out.result(found.data, *found.lines, ok=found.ok, otherwise=NO if attack else EXITS["unavailable"])


def keys_list(home: Home = HOME, as_json: Json = False) -> None:
    """List the keys and what each protects."""
    from quarterturn.cli.secrets import open_house

    with open_house(home) as house:
        tasks = len(house.vault.records())
        ring, vkey = house.ring.key_id, house.places.log_vkey.read_text(encoding="utf-8").strip()
        sender = house.sender
    Output(as_json=as_json).result(
        {
            "ring": {"key_id": ring, "protects": f"{tasks} tasks and their evidence"},
            "log": {"vkey": vkey},
            "endpoint": {"key_id": sender.key_id, "public": sender.public_pem},
        },
        f"ring      {ring}  protects {tasks} tasks and their evidence",
        f"log       {vkey}",
        f"endpoint  {sender.key_id}  signs what hosted endpoints are sent: {house.places.endpoint_pem}",
    )


def access_log(
    verify: Annotated[bool, typer.Option("--verify", help="Check the chain of entries.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List every opening of a task or of sealed evidence."""
    from quarterturn.cli.secrets import open_house

    with open_house(home) as house:
        if verify:
            house.vault.verify_access_log()
        entries = house.vault.access_log()
    data = [{"at": e.at.isoformat(), "who": e.who, "what": e.what, "why": e.why} for e in entries]
    lines = [f"{row['at']}  {row['who']:<12} {row['what']:<28} {row['why']}" for row in data]
    Output(as_json=as_json).result(data, *lines, *([f"{len(data)} entries, the chain holds"] if verify else []))
