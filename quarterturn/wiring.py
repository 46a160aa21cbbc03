"""The house with its rooms connected: what a verb asks for is made when it is first asked for.

A home is one folder:

    quarterturn.toml   settings
    quarterturn.db     rows (SQLite)
    keys/              ring.json, the key ring; log.key, the log's signing key, sealed under it
    head/signed        the last head that was signed, outside the database
    public/            what a web server may serve: log/, log.vkey, releases/
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from grammars.grammar import Grammar
from grammars.load import library, load
from grammars.store import Drafts
from quarterturn import clock, migrations, settings
from quarterturn.errors import NotFound, Refused, Unavailable
from quarterturn.settings import Settings
from rotation.books import Books
from rotation.official import Official
from rotation.sets import SetSpec, named
from rotation.store import Months
from rotation.turn import Rotation
from sandbox.box import Box
from sandbox.bwrap_box import BwrapBox
from sandbox.docker_box import DockerBox
from sandbox.errors import Unavailable as NoBox
from sandbox.servers import tool_table
from sandbox.store import Runs
from vault import signing
from vault.db import open_engine
from vault.keys import FileKeyRing, KeyRing
from vault.ledger.append import LogWriter
from vault.ledger.note import Signer
from vault.ledger_store import Ledger
from vault.store import Vault
from verifiers.catalogue import CATALOGUE

PASSPHRASE = "QUARTERTURN_PASSPHRASE"  # noqa: S105 - the variable's name


class House:
    """One open home."""

    def __init__(self, home: Path, passphrase: bytes | None, now: Callable[[], datetime] = clock.now) -> None:
        self.home = home.resolve()
        self.now = now
        self.settings: Settings = settings.load(self.home / settings.FILE)
        self._passphrase = passphrase

    @property
    def has_passphrase(self) -> bool:
        """Whether a passphrase was given."""
        return self._passphrase is not None

    # -- the vault ----------------------------------------------------------------------------------------------------

    @cached_property
    def ring(self) -> KeyRing:
        """The key ring, unlocked."""
        return FileKeyRing.open(self.home / "keys" / "ring.json", self._passphrase)

    @cached_property
    def engine(self) -> Engine:
        """The database, with its migrations applied."""
        engine = open_engine(database_url(self.home, self.settings))
        migrations.upgrade(engine)
        return engine

    @cached_property
    def vault(self) -> Vault:
        """The sealed tasks."""
        return Vault(self.engine, self.ring, self.now)

    @cached_property
    def writer(self) -> LogWriter:
        """The public log's writer."""
        key = signing.load(self.home / "keys" / "log.key", self.ring)
        signer = Signer(self.settings.benchmark.origin, key)
        return LogWriter(self.public / "log", self.home / "head" / "signed", signer, self.settings.benchmark.origin)

    @cached_property
    def ledger(self) -> Ledger:
        """The rows and tiles of the log."""
        return Ledger(self.engine, self.writer, self.now)

    @property
    def public(self) -> Path:
        """The folder that may be served to anybody."""
        return self.home / "public"

    # -- grammars and sandbox -----------------------------------------------------------------------------------------

    @cached_property
    def grammars(self) -> Mapping[str, Grammar]:
        """The shipped, public grammars by server."""
        return shipped_grammars()

    @cached_property
    def drafts(self) -> Drafts:
        """Admissions and reviews."""
        return Drafts(self.engine, self.vault, self.now)

    @cached_property
    def runs(self) -> Runs:
        """Runs and their sealed results."""
        return Runs(self.engine, self.vault, self.now)

    def box(self, name: str | None = None) -> Box:
        """Give the box that was asked for, else the one that the settings name."""
        return choose_box(name or self.settings.run.box)

    # -- rotation -----------------------------------------------------------------------------------------------------

    @cached_property
    def spec(self) -> SetSpec:
        """The set's composition."""
        return named(self.settings.benchmark.set)

    @cached_property
    def months(self) -> Months:
        """Cohorts and turns."""
        return Months(self.engine)

    @cached_property
    def books(self) -> Books:
        """What the month is written in."""
        return Books(
            engine=self.engine,
            vault=self.vault,
            ledger=self.ledger,
            log=self.writer,
            months=self.months,
            runs=self.runs,
            clock=self.now,
        )

    @cached_property
    def official(self) -> Official:
        """Runs that are bound to the ledger."""
        return Official(self.books)

    @cached_property
    def rotation(self) -> Rotation:
        """The turn."""
        return Rotation(self.books, self.spec, self.public / "releases")


def shipped_grammars() -> dict[str, Grammar]:
    """Load every shipped grammar, checked against the pinned tools and the known predicates."""
    return {name: load(name, tools=tool_table(), predicates=CATALOGUE) for name in library()}


def database_url(home: Path, chosen: Settings) -> str:
    """Give the database's address; a relative SQLite path lies in the home."""
    prefix = "sqlite:///"
    url = chosen.store.url
    relative = url.startswith(prefix) and not url.startswith(prefix + "/")
    return f"{prefix}{home}/{url.removeprefix(prefix)}" if relative else url


def choose_box(name: str) -> Box:
    """Give a box by name; `auto` takes an engine where one answers, else bubblewrap.

    Raises:
        Unavailable: none can be had; the message says what each lacks.
    """
    makers: dict[str, Callable[[], Box]] = {"docker": DockerBox, "bwrap": BwrapBox}
    lacks = []
    for maker in makers.values() if name == "auto" else [makers[name]]:
        try:
            box = maker()
            box.check()
        except NoBox as error:
            lacks.append(str(error))
        else:
            return box
    raise Unavailable("; ".join(lacks))


def create(home: Path, chosen: Settings, passphrase: bytes | None) -> None:
    """Make a home: keys, database, log, and last the settings, which make it one.

    Interrupted half-way, it goes on from there when it is called again; a finished home is never touched.

    Raises:
        Refused: there is a home already, or something else is in the way.
    """
    if (home / settings.FILE).exists():
        raise Refused(f"{home} is a home already; choose another folder, or go on with the verbs that work on it")
    if home.exists() and not home.is_dir():
        raise Refused(f"{home} is not a folder; choose another with --home")
    for name in ("keys", "head"):
        (home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    (home / "public" / "log").mkdir(parents=True, exist_ok=True)
    ring_file = home / "keys" / "ring.json"
    ring = FileKeyRing.open(ring_file, passphrase) if ring_file.exists() else FileKeyRing.create(ring_file, passphrase)
    if not (home / "keys" / "log.key").exists():
        signing.store(home / "keys" / "log.key", Ed25519PrivateKey.generate(), ring)
    vkey = Signer(chosen.benchmark.origin, signing.load(home / "keys" / "log.key", ring)).verifier.vkey
    (home / "public" / "log.vkey").write_text(f"{vkey}\n", encoding="utf-8")
    migrations.upgrade(open_engine(database_url(home.resolve(), chosen)))
    (home / settings.FILE).write_text(settings.dump(chosen), encoding="utf-8")


def passphrase_from_environment() -> bytes | None:
    """Take the passphrase out of the environment, so that no child process inherits it."""
    with suppress(KeyError):
        return os.environb.pop(PASSPHRASE.encode())
    return None


def open_house(home: Path) -> House:
    """Open a home.

    Raises:
        NotFound: there is none at `home`.
    """
    if not home.is_dir():
        raise NotFound(f"there is no home at {home}: make one with `quarterturn init --home {home}`")
    return House(home, passphrase_from_environment())
