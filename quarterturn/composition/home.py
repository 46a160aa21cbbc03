"""The open home: its folder, settings, clock, database, key ring and sealed tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from quarterturn import settings
from quarterturn.home.paths import HomePaths
from vault.keys.locks import Opener
from vault.keys.ring import FileKeyRing

if TYPE_CHECKING:
    from quarterturn.backup.backup import Backups
    from quarterturn.servers.home_servers import HomeServers
    from vault.store.tasks import Vault


class OpenHome:
    """One open home; the database and the key ring are opened when they are first asked for.

    Args:
        folder: where it is.
        openers: what opens the key ring, in the order in which to try them.
        now: the present moment, with its time zone.
        database: an address of the database that wins over the settings', or None.

    Raises:
        NotFound: there is no home.
        Malformed: its settings cannot be understood.
    """

    def __init__(
        self, folder: Path, openers: Sequence[Opener], now: Callable[[], datetime], database: str | None
    ) -> None:
        self.places = HomePaths(folder.resolve())
        self.places.require()
        self.now, self._openers, self._database = now, openers, database
        self.entropy: Callable[[int], bytes] = os.urandom  # for what the public log commits to
        self.settings = settings.load(self.places.settings)
        if signer := self.settings.ledger.signer:
            self.places.head = HomePaths(Path(signer)).head  # its owner alone may say what was signed last
        if self.places.servers.is_dir():
            self.servers.register()

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.places.home

    def close(self) -> None:
        """Let go of the database, if it was opened."""
        if "engine" in self.__dict__:
            self.engine.dispose()

    @cached_property
    def ring(self) -> FileKeyRing:
        """The key ring, unlocked."""
        return FileKeyRing.open_by(self.places.ring, self._openers)

    @cached_property
    def engine(self) -> Engine:
        """The database, whose tables are those of this version."""
        from quarterturn import migrations
        from vault.database import open_engine

        url = self.places.database_url(self.settings, self._database)
        self.places.require_database(url)
        engine = open_engine(url)
        migrations.require_newest(engine, self.folder)
        return engine

    @cached_property
    def vault(self) -> Vault:
        """The sealed tasks."""
        from quarterturn.redactor import REDACTOR
        from vault.store.tasks import Vault

        return Vault(self.engine, self.ring, self.now, seen=REDACTOR.learn)

    @cached_property
    def servers(self) -> HomeServers:
        """The MCP servers that it has added to the shipped ones."""
        from quarterturn.servers.home_servers import HomeServers

        return HomeServers(self.places.servers)

    @cached_property
    def backups(self) -> Backups:
        """Backups of it."""
        from quarterturn.backup.backup import Backups

        policy, origin = self.settings.ledger.policy, self.settings.benchmark.origin
        return Backups(lambda: self.engine, self.places, policy, origin, self.now)
