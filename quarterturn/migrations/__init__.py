"""Database migrations: one line of revisions, numbered from 0001, for the tables of every package.

`upgrade` checks the database's revision first and loads Alembic only where there is something to do, since every verb
that works on a home comes through here. The check is repeated under the write lock, so of two processes one waits and
then finds the work done.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from quarterturn.errors import NotFound, Refused
from quarterturn.migrations import procrastinate_tables
from vault.database import transaction

FOLDER = Path(__file__).parent / "scripts"
NEWEST = max(path.name for path in (FOLDER / "versions").glob("[0-9]*.py")).partition("_")[0]


def upgrade(engine: Engine, revision: str = "head", *, empty: bool = True) -> None:
    """Bring the database to `revision`; doing it twice changes nothing.

    Args:
        engine: the database.
        revision: its number, or `head`.
        empty: whether a database without our tables gets them. That of a home has them: filling it anew would hide
            what was lost.

    Raises:
        NotFound: there is no table of ours, and there has to be.
        Refused: a newer version of this software has changed the database.
    """
    with engine.connect() as connection:
        at = current(connection)
        if at is None and not empty:
            raise NotFound(
                f"the home's database, {engine.url.render_as_string()}, has no table of ours: it was emptied, or it is "
                "another one. Mend database.url, or make a home of a backup with `quarterturn restore`"
            )
        if revision == "head" and at == NEWEST and _has_bells(connection):
            return
    _migrate(engine, "upgrade", revision)


def downgrade(engine: Engine, revision: str = "base") -> None:
    """Take the database back to `revision`."""
    _migrate(engine, "downgrade", revision)


def current(connection: Connection) -> str | None:
    """Name the revision that the database is at, or None for one without our tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _has_bells(connection: Connection) -> bool:
    return connection.dialect.name != "postgresql" or procrastinate_tables.installed(connection)


def _migrate(engine: Engine, direction: str, revision: str) -> None:
    from alembic import command  # noqa: PLC0415 - slow to load, and seldom needed
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    with transaction(engine) as session:
        connection = session.connection()
        if (at := current(connection)) is not None and at > NEWEST:
            raise Refused(f"the database is at revision {at} and this version knows {NEWEST}: use the newer version")
        config.attributes["connection"] = connection
        getattr(command, direction)(config, revision)
        if connection.dialect.name == "postgresql":
            (procrastinate_tables.install if direction == "upgrade" else procrastinate_tables.remove)(connection)
