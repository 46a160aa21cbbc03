"""Verbs `demo`, `init` and `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import BoxName
from quarterturn.cli.terminal.exits import EXITS, NO
from quarterturn.cli.terminal.extra_verbs import ATTACK
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import database, new_passphrase
from quarterturn.errors import Malformed, home_option

MAX_YEARS_AHEAD = 10
"""How far ahead a first month may lie; what is further away is a slip of the keyboard."""


verbs = typer.Typer()


@verbs.command("demo")
def demo(
    home: Annotated[
        Path | None, typer.Option("--home", help="Where to keep the demo's files (default: a temporary folder).")
    ] = None,
    box: Annotated[BoxName | None, typer.Option("--box", help="Where to run it (default: bwrap on Linux).")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the details of each step, and its time.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the demo's home afterwards, at a port of its own, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run one benchmark month on real MCP servers, and audit it."""
    from contextlib import suppress

    from quarterturn.cli.setup.service import serve_here

    out = Output(as_json=as_json)
    with out.progress("starting", 1, transient=True):
        from quarterturn.cli.setup.demo import play

    with play(home, box, out, verbose=verbose) as played:
        out.result(played.data, *played.lines, ok=played.ok)
        if serve:
            with suppress(KeyboardInterrupt):
                serve_here(played.app, ready=lambda url: out.say(f"Serving the demo's home at {url}; Ctrl-C ends it."))


@verbs.command("init")
def init(
    month: Annotated[str | None, typer.Option(help="The first month, YYYY-MM (default: this one).")] = None,
    benchmark_set: Annotated[
        str, typer.Option("--set", metavar="NAME|FILE", help="A shipped set, or a set file of your own.")
    ] = "demo",
    origin: Annotated[
        str, typer.Option(help="The log's name, a schema-less URL that you own.")
    ] = "quarterturn.example/log",
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Protect the key ring with a passphrase.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make a home: key ring, database, log and settings. After an interruption, run it again to resume."""
    from grammars.language.load import library
    from quarterturn import settings, wall_clock
    from quarterturn.home.home import create
    from quarterturn.home.paths import HomePaths
    from rotation.calendar import Month
    from rotation.month.sets import chosen as chosen_set

    now = Month.of(wall_clock.now())
    chosen_month = Month.parse(month) if month else now
    if chosen_month.year > now.year + MAX_YEARS_AHEAD:
        raise Malformed(f"the first month {month} is more than ten years away: name a month near {now}")
    first = str(chosen_month)
    spec = chosen_set(benchmark_set)
    spec.require_dev_grammars(library())
    benchmark = {"origin": origin, "set": spec.name, "first_month": first}
    chosen = settings.parse({"benchmark": benchmark, "service": dict(spec.quotas)}, "the new home's settings")
    out = Output(as_json=as_json)
    create(
        home,
        chosen,
        new_passphrase() if passphrase else None,
        database(),
        wall_clock.now(),
        set_file=spec.text,
        out=out,
    )
    key, option = str(HomePaths(home).log_vkey), home_option(home)
    missing = [server for server in spec.servers if server not in library()]
    own = f"No shipped grammar is for {', '.join(missing)}: import yours first (quarterturn grammar import)."
    out.result(
        {"home": str(home), "set": spec.name, "first_month": first, "key": key},
        f"{home} is ready for the set '{spec.name}', first month {first}.",
        f"Publish the log's key: {key}",
        *([own] if missing else []),
        f"Next: quarterturn task admit --as NAME {option}; then, by somebody else, quarterturn task review --as NAME "
        f"{option}; then quarterturn turn run {option}.",
    )


@verbs.command("doctor")
def doctor(
    attack: Annotated[bool, typer.Option("--attack", help=ATTACK.about)] = False,
    with_controls: Annotated[
        bool,
        typer.Option("--with-controls", help="With --attack: repeat each attempt without its control, as root."),
    ] = False,
    box: Annotated[BoxName, typer.Option("--box", help="Which box to attack.")] = "auto",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Check this machine and the home. Shows what works, what is missing, and what works without it."""
    from quarterturn.cli.terminal import secrets
    from quarterturn.errors import Malformed

    if with_controls and not attack:
        raise Malformed("--with-controls belongs to --attack: give both")
    out = Output(as_json=as_json)
    if attack:
        report = ATTACK.function()(box, out, controls=with_controls)
    else:
        from quarterturn.cli.setup import doctor_checks

        report = doctor_checks.machine(home, secrets.database(), secrets.passphrase())
    out.result(report.data, *report.lines, ok=report.ok, otherwise=NO if attack else EXITS["unavailable"])
