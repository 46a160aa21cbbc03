"""Dispatcher: hands the servings of this process's runs to the runners that ask for work. In memory.

    offered --take--> taken --request_start--> requested --grant--> granted --(handed in)--> closed

A taken serving is encrypted. Its key is granted only once the run has recorded that the task is exposed.

A runner holds one serving that it has not started. It starts that at once, or when something that it plays has ended:
one that neither plays nor starts has it taken from it after `HELD_SECONDS`. Who lets `MAX_UNSTARTED` of them lapse in a
row is given none for `SKIPPED_SECONDS` and named in the log: it is broken, or somebody else has its token.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal

from quarterturn.runners.store import RunnerRecord

HELD_SECONDS = 60.0
"""For how long a runner keeps a serving that it took and did not start, since it last named it while it played."""
MAX_UNSTARTED = 3
SKIPPED_SECONDS = 600.0

State = Literal["offered", "taken", "requested", "granted", "closed"]
log = logging.getLogger("quarterturn.runners")


@dataclass(eq=False)
class Offer:
    """A serving that is offered to runners.

    Attributes:
        handle: its opaque name.
        box: the box that it is for.
        run_class: the class of its run.
        document: the serving, encrypted.
        key: of the document.
        seconds: for how long what it leaves is waited for, once it has started.
        state: see the module.
        runner: the number of the token of the runner that took it.
        held_until: when it is offered again, by the dispatcher's clock.
    """

    handle: str
    box: str
    run_class: str
    document: bytes = field(repr=False)
    key: bytes = field(repr=False)
    seconds: float
    state: State = "offered"
    runner: int | None = None
    held_until: float = 0.0


@dataclass
class _Lapses:
    """How many servings the runner of this name let lapse in a row, and until when it is given none."""

    name: str = ""
    count: int = 0
    skipped_until: float = float("-inf")


class Dispatcher:
    """The offers of one process, and those who wait for them.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._offers: dict[str, Offer] = {}
        self._lapses: dict[int, _Lapses] = defaultdict(_Lapses)
        self._changed = threading.Condition()

    def offer(self, offer: Offer) -> None:
        """Offer a serving."""
        with self._changed:
            self._offers[offer.handle] = offer
            self._changed.notify_all()

    def find(self, handle: str) -> Offer | None:
        """Return the offer of a handle, or None."""
        with self._changed:
            return self._offers.get(handle)

    def take(self, runner: RunnerRecord) -> Offer | None:
        """Give a runner the oldest serving that is for its box and class; None where there is none now.

        It is given the one that it holds again: the answer was lost, or the runner was started again.
        """
        with self._changed:
            now = self._clock()
            self._take_lapsed_back(now)
            own = [offer for offer in self._offers.values() if (offer.state, offer.runner) == ("taken", runner.token)]
            if own or self._lapses[runner.token].skipped_until > now:
                return own[0] if own else None
            for offer in self._offers.values():
                fits = (offer.box, offer.run_class) == (runner.box, runner.run_class)
                if fits and offer.state == "offered":
                    offer.state, offer.runner, offer.held_until = "taken", runner.token, now + HELD_SECONDS
                    self._lapses[runner.token].name = runner.name
                    return offer
            return None

    def request_start(self, handle: str, runner: int) -> bytes | None:
        """Ask to start a serving; return its key once that is granted, and None until then.

        Raises:
            KeyError: the runner does not hold it (any more).
        """
        with self._changed:
            offer = self._offers[handle]
            if offer.runner != runner:
                raise KeyError(handle)
            if offer.state == "taken":
                offer.state = "requested"
                self._lapses.pop(runner, None)
                self._changed.notify_all()
            return offer.key if offer.state == "granted" else None

    def keep(self, handles: Collection[str], runner: int, *, is_playing: bool) -> set[str]:
        """Keep what a runner names for it while it plays, and return those of the handles that it still holds."""
        with self._changed:
            now = self._clock()
            self._take_lapsed_back(now)
            offers = [offer for handle in handles if (offer := self._offers.get(handle)) and offer.runner == runner]
            for offer in offers if is_playing else ():
                offer.held_until = now + HELD_SECONDS
            return {offer.handle for offer in offers}

    def give_back(self, handle: str, runner: int) -> bool:
        """Offer what a runner took and will not start to others; False while the start of it is being recorded."""
        with self._changed:
            offer = self._offers.get(handle)
            if offer is None or offer.runner != runner:
                return True
            if offer.state == "taken":
                offer.state, offer.runner = "offered", None
                self._changed.notify_all()
            return offer.state != "requested"

    def wait_for_request(self, offer: Offer, seconds: float) -> bool:
        """Say whether a runner asked to start a serving within so many seconds."""
        with self._changed:
            self._take_lapsed_back(self._clock())
            return self._changed.wait_for(lambda: offer.state == "requested", seconds)

    def grant(self, offer: Offer) -> None:
        """Hand the key out to the runner that asked."""
        with self._changed:
            offer.state = "granted"
            self._changed.notify_all()

    def notify(self) -> None:
        """Wake whoever waits for a change of the servings' rows."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait for a change, for so many seconds at most."""
        with self._changed:
            self._changed.wait(seconds)

    def close(self, handle: str) -> None:
        """Offer a serving no more."""
        with self._changed:
            if (offer := self._offers.pop(handle, None)) is not None:
                offer.state = "closed"
            self._changed.notify_all()

    def _take_lapsed_back(self, now: float) -> None:
        """Offer again what runners took and did not start in time."""
        for offer in self._offers.values():
            if offer.state != "taken" or offer.runner is None or offer.held_until >= now:
                continue
            lapses = self._lapses[offer.runner]
            lapses.count += 1
            if lapses.count >= MAX_UNSTARTED:
                lapses.count, lapses.skipped_until = 0, now + SKIPPED_SECONDS
                log.warning(
                    "the runner %s took %d servings in a row and started none: it is given none for %d minutes; look "
                    "at its log, or put it out with `quarterturn runner revoke %s`",
                    *(lapses.name, MAX_UNSTARTED, SKIPPED_SECONDS / 60, lapses.name),
                )
            offer.state, offer.runner = "offered", None
