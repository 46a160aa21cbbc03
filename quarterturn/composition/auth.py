"""Services of who may do what: accounts, API tokens, maintainers who sign in elsewhere, and acts that take two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.composition.home import OpenHome

if TYPE_CHECKING:
    from quarterturn.accounts.oidc import Provider
    from quarterturn.accounts.store import Accounts, Caller
    from quarterturn.approvals.approvals import Approvals


@dataclass
class AuthServices:
    """Who may do what in a home."""

    home: OpenHome

    @cached_property
    def accounts(self) -> Accounts:
        """The accounts and API tokens."""
        from quarterturn.accounts.store import Accounts

        return Accounts(self.home.engine, self.home.now)

    @cached_property
    def oidc(self) -> Provider | None:
        """The OpenID provider of maintainers, if the settings name one."""
        from quarterturn.accounts.oidc import Provider

        return Provider(self.home.settings.oidc, self.home.now) if self.home.settings.oidc.issuer else None

    def caller(self, text: str) -> Caller | None:
        """Return the caller of a token, ours or the provider's; None where it is not valid."""
        ours = self.accounts.caller(text)
        return ours if ours is not None or self.oidc is None else self.oidc.caller(text)

    @cached_property
    def approvals(self) -> Approvals:
        """The acts that need two maintainers; while there are no rules, no key ring is opened."""
        from quarterturn.approvals.approvals import Approvals
        from quarterturn.approvals.store import ApprovalStore

        home = self.home
        store = ApprovalStore(home.engine, lambda: home.vault, home.places.log_vkey, home.now)
        return Approvals(store, home.folder, home.now)
