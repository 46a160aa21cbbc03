"""Services of runners: their rows, what has servings played on them, and what answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.runs import RunServices
from rotation.errors import NotAllowed

if TYPE_CHECKING:
    from quarterturn.runners.fleet import RunnerFleet
    from quarterturn.runners.local_runner import LocalRunner
    from quarterturn.runners.service import RunnerService
    from quarterturn.runners.store import Runners


@dataclass
class RunnerServices:
    """The runners of a home."""

    home: OpenHome
    auth: AuthServices
    runs: RunServices
    local: LocalRunner | None = None  # set by a process that has one, before it plays

    @cached_property
    def store(self) -> Runners:
        """The runners, and the servings that they started."""
        from quarterturn.runners.store import Runners

        return Runners(self.home.engine, self.auth.accounts, self.home.now)

    @cached_property
    def fleet(self) -> RunnerFleet:
        """What has servings played on runners."""
        from quarterturn.runners.dispatcher import Dispatcher
        from quarterturn.runners.fleet import RunnerFleet
        from quarterturn.runners.hand_in_folder import HandInFolder
        from quarterturn.runners.hand_in_key import HandInKey

        places = self.home.places
        key, handed_in = HandInKey(places.hand_in_key, self.home.ring), HandInFolder(places.handed_in)
        classes = self.home.settings.run.runners
        return RunnerFleet(self.store, Dispatcher(), key, handed_in, classes, self.local)

    @cached_property
    def service(self) -> RunnerService:
        """What answers runners."""
        from quarterturn.runners.service import RunnerService

        return RunnerService(self.fleet, self.runs.store, self._servers_of_set)

    def _servers_of_set(self) -> Mapping[str, str]:
        """Return the digests of servers that the `set` statement of the present month names, while one is live."""
        try:
            statement = self.runs.log.ledger.statement(f"set/{self.runs.benchmark.months.live_month()}")
        except NotAllowed:
            return {}
        servers: Mapping[str, str] = statement.statement.predicate["servers"]
        return servers
