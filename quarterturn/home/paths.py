"""Layout of a home: the folder that holds all data of one benchmark.

quarterturn.toml   settings
set.toml           the set: how many tasks of which kind, and how they rotate
quarterturn.db     rows (SQLite)
claim-judge.json   what was last measured of the claim judge, if there is one
keys/              ring.json, the key ring; sealed under it, log.key, the log's signing key, month.key, which signs
                   the result of each turn, endpoint.key, which signs requests to hosted endpoints, and hand-in.key, to
                   which runners seal what they hand in
handed-in/         what runners handed in and no run has taken yet, sealed
local-runners/     what the runners of this machine's own processes played and have not handed in yet, sealed
head/signed        the last head that was signed, outside the database
public/            what a web server may serve: log/, log.vkey, releases/, months/ and the keys of those who signed
                   them (allowed_signers), endpoint.pem, view/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn import settings
from quarterturn.errors import NotFound, home_option

if TYPE_CHECKING:
    from quarterturn.settings import Settings
    from vault.ledger.signatures.note import Verifier

SET_FILE = "set.toml"
SQLITE = "sqlite:///"


class HomePaths:
    """The paths of a home's files and folders."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings, self.set_file = home / settings.FILE, home / SET_FILE
        self.servers = home / "servers"  # those that the home has added
        self.claim_judge_check = home / "claim-judge.json"
        self.head = home / "head" / "signed"

        keys = home / "keys"
        self.ring = keys / "ring.json"
        self.log_key = keys / "log.key"
        self.next_log_key = keys / "log.next.key"  # while the log's key is being changed
        self.month_key, self.endpoint_key = keys / "month.key", keys / "endpoint.key"
        self.hand_in_key = keys / "hand-in.key"  # to which runners seal what they hand in
        self.handed_in = home / "handed-in"
        self.local_runners = home / "local-runners"
        self.model_keys = keys / "models"  # one a language model and kind of run

        self.public = home / "public"
        self.log, self.releases, self.view = self.public / "log", self.public / "releases", self.public / "view"
        self.log_vkey = self.public / "log.vkey"  # where the log had other keys before, those stand on lines above
        self.endpoint_pem = self.public / "endpoint.pem"

    @property
    def log_keys(self) -> list[Verifier]:
        """The log's public keys, its own last."""
        from vault.ledger.audit.command import read_keys  # noqa: PLC0415 - most verbs read no public key
        from vault.ledger.signatures.note import Verifier  # noqa: PLC0415 - likewise

        return [Verifier.parse(key) for key in read_keys(self.log_vkey)]

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
        """Return the database's address with its password; a relative SQLite path lies in the home.

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
