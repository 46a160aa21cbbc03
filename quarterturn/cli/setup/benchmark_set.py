"""Verbs of benchmark sets: `set`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.terminal.home_servers import register_servers_of
from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output

if TYPE_CHECKING:
    from quarterturn.tasks.set_report import SetReport

HEAD = "server         category     cohort  live reserve  dev skeletons months"

_KINDS = {"cohort": "a cohort", "dev": "the dev set"}


verbs = typer.Typer(name="set", help="Sets: how many tasks of which kind, and how they rotate.")


@verbs.command("list")
def set_list(as_json: Json = False) -> None:
    """List the shipped sets."""
    from rotation.month.sets import SETS

    data = [{"name": s.name, "size": s.size, "servers": s.servers, **s.plan} for s in SETS.values()]
    lines = [
        f"{s.name:<12} {s.size:>4} private tasks, {len(s.servers)} servers, {s.cohorts} cohorts of {s.cohort_size}, "
        f"{_pace(s.period)}"
        for s in SETS.values()
    ]
    Output(as_json=as_json).result(data, *lines)


@verbs.command("show")
def set_show(
    name: Annotated[str, typer.Argument(help="A shipped set.")],
    as_json: Json = False,
) -> None:
    """Print the set file of a shipped set, to begin one of your own with."""
    from rotation.month.sets import named

    text = named(name).text
    Output(as_json=as_json).result({"name": name, "text": text}, text.rstrip("\n"))


@verbs.command("check")
def set_check(
    source: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A shipped set, or a set file of your own.")],
    grammar: Annotated[
        list[str] | None,
        typer.Option("--grammar", help="A grammar of your own (folder or file) in place of its server's shipped one."),
    ] = None,
    home: Annotated[Path | None, typer.Option("--home", help="Know the servers that this home has added too.")] = None,
    as_json: Json = False,
) -> None:
    """Validate a set file, and show what it comes to and how many months the grammars last."""
    from grammars.language.load import library
    from quarterturn.tasks import set_report
    from rotation.generation.grammars import read, shipped_among
    from rotation.month.sets import chosen

    register_servers_of(home)
    spec = chosen(source)
    spec.require_dev_grammars(library())
    own = {given.server: given for given in map(read, grammar or ())}
    made = set_report.report(spec, {**shipped_among(set(spec.servers) - own.keys()), **own})
    Output(as_json=as_json).result(made.as_json(), *_lines(made), ok=made.ok)


def _lines(made: SetReport) -> Iterator[str]:
    spec = made.spec
    yield (
        f"{spec.name}: {spec.size} private tasks in {spec.cohorts} cohorts of {spec.cohort_size}; {_pace(spec.period)} "
        f"and is live for {spec.lifetime} months"
    )
    spare, dev = sum(spec.reserve.values()), sum(spec.dev.values())
    yield f"{spare} spare tasks, {dev} dev tasks; tracks: {', '.join(spec.tracks)}"
    yield from (f"quota {name}: {most}" for name, most in spec.quotas.items())
    yield from (f"{_KINDS[name]}: {kinds}" for name, kinds in made.kinds.items())
    if spec.languages:
        counts = ", ".join(f"{count} in {tag}" for tag, count in spec.languages.items())
        yield f"languages of a cohort's goals: {counts}, {spec.cohort_size - sum(spec.languages.values())} in en"
    templates, exact = made.templates
    if exact:
        yield f"{exact} of {templates} templates rule out a right form (`exact`): at most a tenth should"
    yield HEAD
    for row in made.rows:
        have, months = ("-" if value is None else str(value) for value in (row.skeletons, row.months))
        yield (
            f"{row.server:<14} {row.category:<12} {row.cohort:>6} {row.live:>5} {row.reserve:>7} {row.dev:>4} "
            f"{have:>9} {months:>6}"
        )
    if unknown := sorted({row.server for row in made.rows if row.skeletons is None}):
        yield (
            f"no shipped grammar is for {', '.join(unknown)}: name yours with --grammar, and import it into the home "
            "before `task admit`"
        )
    for row in made.rows:
        if not row.enough:
            yield (
                f"{row.server}/{row.category}: {row.live} live, {row.reserve} spare and {row.dev} dev tasks need as "
                f"many skeletons, and the grammar has {row.skeletons}: write templates, or take fewer tasks"
            )


def _pace(period: int) -> str:
    return "one retires every month" if period == 1 else f"one retires every {period} months"
