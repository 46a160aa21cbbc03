"""Upgrade of a home's database to the tables of this version, after a copy of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quarterturn import migrations, settings
from quarterturn.backup import rows
from quarterturn.home.paths import HomePaths
from vault.database import open_engine


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did.

    Attributes:
        before: the revision that the database was at.
        after: the revision that it is at.
        made: the migrations, in order.
        copy: the copy of the database as it was before; None where nothing was done, and on PostgreSQL.
    """

    before: str
    after: str
    made: Sequence[str]
    copy: Path | None


def upgrade(home: Path, database: str | None = None) -> Upgrade:
    """Bring a home's database to the newest revision; doing it twice changes nothing.

    Args:
        home: its folder.
        database: an address that wins over the settings', or None.

    Raises:
        NotFound: there is no home, or its database is empty.
        Refused: its tables are those of a newer version, or of one before 0.9.0.
        Unavailable: there is no room for the copy.
    """
    places = HomePaths(home.resolve())
    places.require()
    url = places.database_url(settings.load(places.settings), database)
    places.require_database(url)
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            before = migrations.require_known(connection)
        if not (made := migrations.after(before)):
            return Upgrade(before, before, (), None)
        copy = None
        if engine.dialect.name == "sqlite":
            copy = places.home / f"quarterturn.db.{before}"
            copy.unlink(missing_ok=True)  # of an upgrade that was broken off
            rows.take(engine, copy)
        migrations.upgrade(engine)
        return Upgrade(before, migrations.NEWEST, made, copy)
    finally:
        engine.dispose()
