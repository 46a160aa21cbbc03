"""Database migrations: one line of revisions, numbered from 0001, for the tables of every package.

Homes live from version 0.9.0 on (`docs/adr/0103-homes-live-from-0-9-on.md`): a migration that was released is never
edited, and a change of the tables is one more. Every verb that works on a home calls `require_newest`, which loads no
Alembic. Only `init` and `quarterturn upgrade` change tables, in one transaction that takes the write lock, so an
upgrade is made wholly or not at all, and of two processes one waits and then finds the work done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from quarterturn.errors import NotFound, Refused, home_option
from vault.database import transaction

FOLDER = Path(__file__).parent / "scripts"
COLUMNS: Mapping[str, str] = {
    "0001": "ad1a60dbbd38e46455a62e26246c3dbb92a7668e80508dcc442be4245c30c019",
    "0002": "738fd139e8f999eabcc261e73da361e5e475343c3260557dff3f227b95c00539",
    "0003": "5a4086bd6f2d16906885d99c62e69329d6a0a184d1c27957abb855d96a30cd1c",
}
"""Revision -> SHA-256 of the names of its tables and columns (`columns_digest`)."""

NEWEST = max(COLUMNS)

_OURS = ("vault", "grammars", "sandbox", "rotation", "quarterturn")
_LIST_COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
    "postgresql": (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    ),
}


def require_newest(engine: Engine, home: Path) -> None:
    """Refuse a home's database whose tables are not those that this version reads and writes.

    Filling an empty one anew would hide what was lost.

    Raises:
        NotFound: there is no table of ours.
        Refused: they are of another version.
    """
    with engine.connect() as connection:
        at = require_known(connection)
        if at != NEWEST:
            raise Refused(
                f"the home's database is at revision {at}, and this version works on {NEWEST}: run `quarterturn "
                f"upgrade {home_option(home)}`"
            )


def require_known(connection: Connection) -> str:
    """Return the revision of a home's database.

    Raises:
        NotFound: there is no table of ours.
        Refused: this version does not know the revision, or the tables are not the revision's.
    """
    at, address = current(connection), connection.engine.url.render_as_string()
    if at is None:
        raise NotFound(
            f"the home's database, {address}, has no table of ours: it was emptied, or it is another one. Mend "
            "database.url, or make a home of a backup with `quarterturn restore`"
        )
    if at > NEWEST:
        raise Refused(f"the database is at revision {at} and this version knows {NEWEST}: use the newer version")
    if COLUMNS.get(at) != columns_digest(connection):
        raise Refused(
            f"the home's database, {address}, does not have the tables of its revision, {at}: a version before 0.9.0 "
            "made it, or it was changed by hand. Use the version that made it, or make a new home with `quarterturn "
            "init`; there is no upgrade"
        )
    return at


def columns_digest(connection: Connection) -> str:
    """Return the SHA-256 of the names of our tables and their columns, in one query."""
    rows = connection.execute(text(_LIST_COLUMNS[connection.dialect.name]))
    lines = sorted(f"{table}.{column}\n" for table, column in rows if table.partition("_")[0] in _OURS)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def after(revision: str) -> list[str]:
    """List the migrations after a revision, in order, by the names of their files."""
    return sorted(path.stem for path in (FOLDER / "versions").glob("[0-9]*.py") if path.stem[:4] > revision)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to `revision`, in one transaction; doing it twice changes nothing.

    Raises:
        Refused: a newer version of this software has changed the database.
    """
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
