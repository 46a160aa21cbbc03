"""Layout of a home: the folder that holds all data of one benchmark.

quarterturn.toml   settings
set.toml           the set: how many tasks of which kind, and how they rotate
quarterturn.db     rows (SQLite)
claim-judge.json   what was last measured of the claim judge, if there is one
keys/              ring.json, the key ring; sealed under it, log.key, the log's signing key, month.key, which signs
                   the result of each turn, and endpoint.key, which signs requests to hosted endpoints
head/signed        the last head that was signed, outside the database
public/            what a web server may serve: log/, log.vkey, releases/, months/ and the keys of those who signed
                   them (allowed_signers), endpoint.pem, view/
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn import settings
from quarterturn.errors import NotFound, home_option

if TYPE_CHECKING:
    from quarterturn.settings import Settings
    from vault.ledger.signatures.note import Verifier

SET_FILE = "set.toml"
SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class HomePaths:
    """The paths of a home's files and folders."""

    home: Path

    @property
    def settings(self) -> Path:
        """The settings' file."""
        return self.home / settings.FILE

    @property
    def servers(self) -> Path:
        """The servers that the home has added."""
        return self.home / "servers"

    @property
    def set_file(self) -> Path:
        """The home's copy of its set file."""
        return self.home / SET_FILE

    @property
    def ring(self) -> Path:
        """The key ring's file."""
        return self.home / "keys" / "ring.json"

    @property
    def log_key(self) -> Path:
        """The sealed signing key of the log."""
        return self.home / "keys" / "log.key"

    @property
    def next_log_key(self) -> Path:
        """The log's next signing key, while the key is being changed."""
        return self.home / "keys" / "log.next.key"

    @property
    def month_key(self) -> Path:
        """The sealed key that signs the result of each turn."""
        return self.home / "keys" / "month.key"

    @property
    def endpoint_key(self) -> Path:
        """The sealed key that signs requests to hosted endpoints."""
        return self.home / "keys" / "endpoint.key"

    @property
    def model_keys(self) -> Path:
        """The sealed keys of language models, one a model and kind of run."""
        return self.home / "keys" / "models"

    @property
    def claim_judge_check(self) -> Path:
        """What was last measured of the claim judge."""
        return self.home / "claim-judge.json"

    @property
    def head(self) -> Path:
        """The last head that was signed."""
        return self.home / "head" / "signed"

    @property
    def public(self) -> Path:
        """The folder that may be served to anybody."""
        return self.home / "public"

    @property
    def log(self) -> Path:
        """The public log."""
        return self.public / "log"

    @property
    def log_vkey(self) -> Path:
        """The log's public key; where it had others before, those stand on lines above it."""
        return self.public / "log.vkey"

    @property
    def log_keys(self) -> list[Verifier]:
        """The log's public keys, its own last."""
        from vault.ledger.audit.command import read_keys  # noqa: PLC0415 - most verbs read no public key
        from vault.ledger.signatures.note import Verifier  # noqa: PLC0415 - likewise

        return [Verifier.parse(key) for key in read_keys(self.log_vkey)]

    @property
    def endpoint_pem(self) -> Path:
        """The public key of `endpoint_key`."""
        return self.public / "endpoint.pem"

    @property
    def releases(self) -> Path:
        """The published months."""
        return self.public / "releases"

    @property
    def view(self) -> Path:
        """The public view, as files (`quarterturn.public_view`)."""
        return self.public / "view"

    def require(self) -> None:
        """Refuse a folder that is no home.

        Raises:
            NotFound: there is none, or it was never finished.
        """
        if self.home.is_file():
            raise NotFound(f"{self.home} is a file, and a home is a folder: name the folder with --home")
        if not self.settings.is_file():
            raise NotFound(
                f"there is no home at {self.home}: make one with `quarterturn init {home_option(self.home)}`"
            )

    def require_database(self, url: str) -> None:
        """Refuse an SQLite address with no file behind it: opening it would make an empty database.

        Raises:
            NotFound: there is no file.
        """
        file = Path(url.removeprefix(SQLITE))
        if url.startswith(SQLITE) and file.parent.is_dir() and not file.exists():
            raise NotFound(
                f"the home has lost its database, {file}: put the file back, mend database.url in {self.settings} or "
                "QUARTERTURN_DATABASE, or make a home of a backup with `quarterturn restore`"
            )

    def database_url(self, chosen: Settings, named: str | None = None) -> str:
        """Give the database's address with its password; a relative SQLite path lies in the home.

        Args:
            chosen: the settings.
            named: an address from outside, which wins over theirs, or None.

        Raises:
            Locked: the password's file is missing, or open to others.
        """
        url, file = named or chosen.database.url, chosen.database.password_file
        if url.startswith(SQLITE):
            relative = not url.startswith(f"{SQLITE}/")
            return f"{SQLITE}{self.home}/{url.removeprefix(SQLITE)}" if relative else url
        from vault.database import with_password  # noqa: PLC0415 - a home on SQLite has no password
        from vault.keys import private_files  # noqa: PLC0415 - likewise

        return with_password(url, private_files.read(self.home / file, "password of the database")) if file else url
