"""Signed attestation of each month: the folder `months/YYYY-MM/` and the list of allowed signers.

A month's folder is written whole or not at all. It follows from the log and the key, so a missing one is written again
with the same bytes. It is only ever signed with the key that the month's own `set` statement names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rotation.errors import Refused
from rotation.month.store import MonthStore, Turn
from vault.errors import Unavailable
from vault.files import write_atomically
from vault.ledger.release import month
from vault.ledger.release.bundle import write_whole
from vault.ledger.statements.statement import LoggedStatement
from vault.store.public_log import PublicLog

MONTHS, SIGNERS = "months", "allowed_signers"


@dataclass(frozen=True, slots=True)
class Attester:
    """Signs the attestation of each month.

    Attributes:
        key: the private key that signs months.
        public: the folder of public files.
        ledger: the public log.
        months: the store of turns.
    """

    key: Ed25519PrivateKey = field(repr=False)
    public: Path
    ledger: PublicLog
    months: MonthStore

    @property
    def named(self) -> bytes:
        """The public key, 32 bytes, as `set` statements name it."""
        return self.key.public_key().public_bytes_raw()

    def attest(self, turn: Turn) -> Path:
        """Write the list of signers, then the turn's folder, and give the folder; idempotent.

        Raises:
            Refused: the folder is missing and its month names another key, or it exists with other content.
            Unavailable: the disk failed; call again.
        """
        folder = self.public / MONTHS / str(turn.month)
        try:
            self._list_signers(anew=not folder.exists())
            self._sign(folder, self._facts(turn))
        except OSError as error:
            raise Unavailable(f"the folder {folder} cannot be written: {error.strerror or error}; call again") from None
        return folder

    def _sign(self, folder: Path, facts: month.MonthAttestation) -> None:
        if self.named != _named(facts.promised):
            return _require(folder)
        files = month.files(facts, self.key)
        if not folder.exists():
            write_whole(folder, files)
        if any(_read(folder / name) != data for name, data in files.items()):
            raise Refused(f"{folder} already exists and holds something else; move it away first")
        return None

    def _list_signers(self, *, anew: bool) -> None:
        """Write the list if it has changed, or always if `anew`, since the one on disk may not have been synced."""
        path = self.public / SIGNERS
        data = month.allowed_signers(self.ledger.origin, self._signers()).encode()
        if anew or _read(path) != data:
            write_atomically(path, data, path.with_name(f".{SIGNERS}.new"))

    def _signers(self) -> Iterator[tuple[bytes, date]]:
        """Yield each key that a `set` statement has named, with the day of that turn."""
        known: set[bytes] = set()
        for turn in self.months.turns():
            if "set" in turn.done:
                key = _named(self.ledger.statement(f"set/{turn.month.plus(1)}"))
                if key not in known:
                    known.add(key)
                    yield key, turn.started_at.astimezone(UTC).date()

    def _facts(self, turn: Turn) -> month.MonthAttestation:
        promised, retired = self.ledger.statement(f"set/{turn.month.plus(1)}"), f"retire/{turn.month}"
        return month.MonthAttestation(
            str(turn.month),
            self.ledger.covering(promised.index),
            promised,
            self.ledger.statement(retired) if self.ledger.find(retired) is not None else None,
        )


def _named(promised: LoggedStatement) -> bytes:
    return bytes.fromhex(promised.statement.predicate["month_key"])


def _require(folder: Path) -> None:
    if not folder.is_dir():
        raise Refused(
            f"{folder} is missing, and its month was promised under another key than keys/month.key: put that key back"
        )


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
