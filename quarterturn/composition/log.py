"""Services of the public log: its writer, its rows, its witnesses and the change of its key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.home import OpenHome

if TYPE_CHECKING:
    from quarterturn.keys.log_key import LogKeyChange
    from vault.ledger.signatures.policy import Policy
    from vault.ledger.write.append import LogWriter
    from vault.ledger.write.cosigning import Witnesses
    from vault.store.public_log import PublicLog


@dataclass
class LogServices:
    """The public log of a home."""

    home: OpenHome
    auth: AuthServices

    @cached_property
    def writer(self) -> LogWriter:
        """The writer of its tiles and heads."""
        from vault.keys import signing
        from vault.ledger.signatures.note import Signer
        from vault.ledger.write.append import LogWriter

        places, origin = self.home.places, self.home.settings.benchmark.origin
        signer = Signer(origin, signing.load(places.log_key, self.home.ring))
        former = [key for key in places.log_keys if key != signer.verifier]
        return LogWriter(places.log, places.head, signer, origin, former=former)

    @cached_property
    def ledger(self) -> PublicLog:
        """Its rows and tiles."""
        from vault.store.log_guard import LogGuard
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
        """Change of its signing key."""
        from quarterturn.keys.log_key import LogKeyChange

        return LogKeyChange(self.home.places, self.home.ring, self.writer, self.ledger, self.home.vault)
