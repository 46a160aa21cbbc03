"""The database's migrations: one line of revisions for the tables of every room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from vault.db import transaction


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to `revision`; doing it twice changes nothing, and two processes wait for each other."""
    _migrate(engine, command.upgrade, revision)


def downgrade(engine: Engine, revision: str = "base") -> None:
    """Take the database back to `revision`."""
    _migrate(engine, command.downgrade, revision)


def _migrate(engine: Engine, direction: Callable[[Config, str], None], revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with transaction(engine) as session:
        config.attributes["connection"] = session.connection()
        direction(config, revision)
