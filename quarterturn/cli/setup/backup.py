"""Verbs `backup`, `restore` and `upgrade`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import database

if TYPE_CHECKING:
    from quarterturn.backup.restore import RestoredHome

OLDER = (
    "This copy is older than its log: it has {held} leaves, and {signed} were signed. It can be read, and signs "
    "nothing. Restore a newer backup, or put the newest database and public/log in. Where there is neither, this log "
    "has ended: begin another under a new origin, and say so in public."
)


verbs = typer.Typer()


@verbs.command("backup")
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

    destination = destination.resolve()
    with closing(Application(home, None, database=database())) as app:
        manifest, keys = app.home.backups.write(destination, with_keys=with_keys), app.home.places.ring.parent
    files, size = manifest.pop("files"), manifest["head"]["size"] if manifest["head"] else 0
    lines = [f"{destination}: {len(files)} files, the log with {size} leaves."]
    if not with_keys:
        lines.append(f"Without the keys: keep a copy of {keys} elsewhere, and the passphrase apart from it.")
    Output(as_json=as_json).result({"backup": str(destination), **manifest}, *lines)


@verbs.command("restore")
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

    made = make(source, home, head, database(), key)
    data = {"home": str(made.home), "made_at": made.made_at, "signs": made.signs}
    Output(as_json=as_json).result(data, *restored_lines(made))


@verbs.command("upgrade")
def upgrade(home: Home = HOME, as_json: Json = False) -> None:
    """Bring a home's database to this version. Other verbs refuse an older home until then; end `serve` before."""
    from quarterturn.backup.upgrade import upgrade as bring

    done = bring(home, database())
    data = {"from": done.before, "to": done.after, "migrations": list(done.made), "copy": done.copy and str(done.copy)}
    out = Output(as_json=as_json)
    if not done.made:
        out.result(data, f"Nothing to do: {home} is at revision {done.after}, the newest. No copy was made.")
        return
    kept = f"A copy of the database as it was: {done.copy}; it may be removed."
    out.result(
        data,
        f"{home} is upgraded from revision {done.before} to {done.after}: {', '.join(done.made)}.",
        kept if done.copy else "No copy of the database was made: on PostgreSQL that is yours (pg_dump).",
    )


def restored_lines(made: RestoredHome) -> list[str]:
    """Say what a restored home is, and what it lacks."""
    lines = [f"{made.home} is as it was on {made.made_at}."]
    if made.lacks is not None:
        lines.append(f"Put its keys back: {made.home / 'keys'}, of a copy whose ring holds {made.lacks}")
    if not made.signs:
        lines.append(OLDER.format(held=made.held, signed=made.signed))
    return [*lines, "Never let two copies of a home run: both would sign for one log."]
