"""Verbs `backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    destination: Annotated[Path, typer.Argument(help="A new folder for the backup, on another disk.")],
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Include the keys, sealed under the ring's passphrase.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Back up a home, also while it is served."""
    from quarterturn.app import Application
    from quarterturn.backup.backup import backup as make
    from quarterturn.cli.terminal.secrets import database

    house = Application(home, None, database=database())
    try:
        made = make(house, destination, with_keys=with_keys)
    finally:
        house.close()
    Output(as_json=as_json).result(made.data, *made.lines)


def restore(
    source: Annotated[Path, typer.Argument(help="The backup's folder.")],
    head: Annotated[Path | None, typer.Option(help="The newest signed head of the log that is known.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="The log's newest log.vkey, if its key was changed after the backup.")
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Restore a home from a backup. A home older than the newest signed head can be read, and signs nothing."""
    from quarterturn.backup.restore import restore as make
    from quarterturn.cli.terminal.secrets import database

    made = make(source, home, head, database(), key)
    Output(as_json=as_json).result(made.data, *made.lines)
