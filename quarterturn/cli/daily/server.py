"""Verbs of maintainers for MCP servers: list, add, record, check, image, remove."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.extra_verbs import COMPARE
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import home_option

if TYPE_CHECKING:
    from quarterturn.servers.home_servers import ToolDifference
    from sandbox.boxes.box import Box as AnyBox
    from sandbox.servers.server import Server

Name = Annotated[str, typer.Argument(help="The name of a server that this home has added.")]


verbs = typer.Typer(name="server", help="MCP servers: list them, add your own.")


@verbs.command("list")
def server_list(
    home: Annotated[Path | None, typer.Option("--home", help="List the servers that this home has added too.")] = None,
    as_json: Json = False,
) -> None:
    """List the servers with their state kinds and packages."""
    from sandbox.servers.registry import SERVERS

    added = set()
    if home is not None:
        from quarterturn.servers.home_servers import of_home

        servers = of_home(home)
        servers.register()
        added = set(servers.names())
    data = [{**_described(server), "added": name in added} for name, server in SERVERS.items()]
    lines = [
        f"{row['server']:<14} {row['kind']:<14} {row['tools']:>3} tools  {row['package']} {row['version']}"
        f"{'  (added)' if row['added'] else ''}"
        for row in data
    ]
    Output(as_json=as_json).result(data, *lines)


@verbs.command("add")
def server_add(
    source: Annotated[Path, typer.Argument(help="A manifest, or a folder with server.yaml and perhaps its lock.")],
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Install a server as its manifest says, start it, call a tool, and record all tools; all is kept or nothing."""
    out = Output(as_json=as_json)
    with open_app(home) as app, out.show_on_terminal(f"installing {source.name}, then listing its tools", 2) as advance:

        def make_box() -> AnyBox:
            advance(1)  # it is installed
            return app.tasks.box(box)

        server, first = app.home.servers.add(source, make_box)
    data = {**_described(server), "tool_names": sorted(server.tools), "called": first.called, "answer": first.answer}
    answered = (
        f"It answered {first.called} with: {first.answer or '(nothing)'}"
        if first.called
        else "No tool was called, since each has required arguments: name one under `first_call` in its manifest."
    )
    out.result(
        data,
        f"{server.name}: {len(server.tools)} tools of {server.package} {server.version}, state kind {server.kind}",
        answered,
        f"Its predicates are {server.name}.…, as `quarterturn predicate list {home_option(home)}` shows.",
        f"Next: write a grammar that begins with `grammar: {server.name}`, and import it.",
    )


@verbs.command("record")
def server_record(name: Name, box: Box = None, home: Home = HOME, as_json: Json = False) -> None:
    """Record the tools of an added server anew; its programs are installed first where they are missing."""
    with open_app(home) as app:
        difference = app.home.servers.record(name, lambda: app.tasks.box(box))
    line = f"{name} {difference}; from now on this is recorded" if difference else f"{name}: nothing changed"
    Output(as_json=as_json).result(_difference(name, difference), line)


@verbs.command("check")
def server_check(name: Name, box: Box = None, home: Home = HOME, as_json: Json = False) -> None:
    """Start an added server and compare its tools with the recorded ones; exit 1 where they differ."""
    with open_app(home) as app:
        difference = app.home.servers.check(name, lambda: app.tasks.box(box))
    line = (
        f"{name} {difference}: tasks were written for the recorded tools; `quarterturn server record {name}` takes the "
        "new ones"
        if difference
        else f"{name} starts, and lists the tools that are recorded"
    )
    Output(as_json=as_json).result(_difference(name, difference), line, ok=not difference)


@verbs.command("image")
def server_image(home: Home = HOME, as_json: Json = False) -> None:
    """Build the container image with the added servers, for runs in the docker box; nothing where it is there."""
    from quarterturn.servers.home_servers import of_home

    output = Output(as_json=as_json)
    tag = of_home(home).build_image(output.say)
    output.result({"image": tag}, f"{tag} has the servers that this home has added.")


@verbs.command("remove")
def server_remove(name: Name, who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Remove an added server whose tools no task of the home lists; opens the tasks that are left, to see."""
    with open_app(home) as app:
        open_task = partial(app.home.vault.open, who=who, why=f"look for tools of {name}, which is to be removed")
        app.home.servers.remove(
            name, used=app.home.vault.records(), listed=lambda record: open_task(record.id).task.available_tools
        )
    Output(as_json=as_json).result({"removed": name}, f"{name} is removed; its manifest and programs are gone.")


verbs.registered_commands += COMPARE.verbs.registered_commands


def _described(server: Server) -> dict[str, Any]:
    return {
        "server": server.name,
        "kind": server.kind,
        "package": server.package,
        "version": server.version,
        "tools": len(server.tools),
    }


def _difference(name: str, difference: ToolDifference) -> dict[str, Any]:
    return {
        "server": name,
        "missing": list(difference.missing),
        "new": list(difference.new),
        "changed": list(difference.changed),
    }
