"""Services of the public log: its writer, its rows, its witnesses and the change of its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.home import OpenHome

if TYPE_CHECKING:
    from quarterturn.keys.log_key import LogKeyChange
    from vault.ledger.signatures.policy import Policy
    from vault.ledger.write.cosigning import Witnesses
    from vault.ledger.write.log_files import LogFiles
    from vault.signer.client import SignerStarter
    from vault.store.public_log import PublicLog


@dataclass
class LogServices:
    """The public log of a home."""

    home: OpenHome
    auth: AuthServices
    _starter: SignerStarter | None = field(default=None, init=False)

    @cached_property
    def writer(self) -> LogFiles:
        """The writer of its tiles and heads."""
        from vault.keys.signing import SealedSigner
        from vault.ledger.write.append import LogWriter

        places, origin = self.home.places, self.home.settings.benchmark.origin
        if self.signer_folder is not None:
            from vault.signer.client import SignerClient, connect_to

            return SignerClient(places.log, places.head, origin, places.log_keys, connect_to(self.signer_folder))
        signer = SealedSigner(origin, places.log_key, lambda: self.home.ring)
        return LogWriter(places.log, places.head, signer, origin, verifiers=places.log_keys)

    def start_signer(self) -> None:
        """Have a process of its own hold the log's key, and this one never; to be called before the log is used.

        Raises:
            Locked: the key, or its ring, cannot be opened.
            Refused: the log is not what was last signed.
            Unavailable: the process does not answer.
        """
        from vault.signer.client import SignerClient, SignerStarter

        places, origin = self.home.places, self.home.settings.benchmark.origin
        if self.signer_folder is None:
            self._starter = SignerStarter(places.log_key, self.home.ring)
            self.writer = SignerClient(places.log, places.head, origin, places.log_keys, self._starter.connect)
        self.writer.append([], 0)  # it finishes what was interrupted

    def close(self) -> None:
        """End the connection to the signer, and the signer, if it was started."""
        if "writer" in self.__dict__:
            self.writer.close()
        if self._starter is not None:
            self._starter.close()

    @cached_property
    def ledger(self) -> PublicLog:
        """Its rows and tiles."""
        from vault.ledger.write.log_guard import LogGuard
        from vault.store.public_log import PublicLog

        return PublicLog(self.home.engine, self.writer, self.home.now, self.witnesses, LogGuard(self.writer.origin))

    @cached_property
    def policy(self) -> Policy | None:
        """Who has to cosign its heads, and how many of them; None where the settings name nobody."""
        from quarterturn.home import policies

        return policies.of(self.home.places, self.home.settings.ledger.policy)

    @cached_property
    def witnesses(self) -> Witnesses | None:
        """Those who have to cosign its heads, ready to be asked; None where nobody has to.

        Raises:
            Unapproved: the settings name others than the rules in force, and two maintainers have not signed for it.
        """
        from quarterturn.home import witnesses

        self.auth.approvals.in_force()
        return None if self.policy is None else witnesses.of(self.writer, self.policy)

    @cached_property
    def key_change(self) -> LogKeyChange:
        """Change of its signing key, in the folder where it lies."""
        return self.key_change_to(self.signer_folder)

    def key_change_to(self, folder: Path | None) -> LogKeyChange:
        """Return the change to a key in the folder of a signer, or in the home.

        Raises:
            Locked: this user may not read a key.
        """
        from quarterturn.keys.log_key import KeyFolder, LogKeyChange

        own = KeyFolder(self.home.places, self.home.ring)
        old, new = (KeyFolder.of_signer(place) if place else own for place in (self.signer_folder, folder))
        return LogKeyChange(old, new, self.writer, self.ledger, self.home.vault)

    @property
    def signer_folder(self) -> Path | None:
        """The folder of a signer with a user of its own, if the settings name one."""
        folder = self.home.settings.ledger.signer
        return Path(folder) if folder else None
