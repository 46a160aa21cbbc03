"""Dispatcher: hands the servings of this process's runs to the runners that ask for work. In memory.

    offered --take--> taken --request_start--> requested --grant--> granted --(handed in)--> closed

A taken serving is encrypted. Its key is granted only once the run has recorded that the task is exposed; a runner that
took a serving and asks no more has it taken from it after `HELD_SECONDS`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal

from quarterturn.runners.store import RunnerRecord

HELD_SECONDS = 60.0
"""For how long a runner keeps a serving that it took and neither started nor named again."""

State = Literal["offered", "taken", "requested", "granted", "closed"]


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


class Dispatcher:
    """The offers of one process, and those who wait for them.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._offers: dict[str, Offer] = {}
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
        """Give a runner the oldest serving that is for its box and class; None where there is none now."""
        with self._changed:
            now = self._clock()
            for offer in self._offers.values():
                lapsed = offer.state == "taken" and offer.held_until < now
                fits = (offer.box, offer.run_class) == (runner.box, runner.run_class)
                if fits and (lapsed or offer.state == "offered"):
                    offer.state, offer.runner, offer.held_until = "taken", runner.token, now + HELD_SECONDS
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
                self._changed.notify_all()
            return offer.key if offer.state == "granted" else None

    def keep(self, handles: Collection[str], runner: int) -> set[str]:
        """Keep what a runner names for it, and return those of the handles that it still holds."""
        with self._changed:
            offers = [offer for handle in handles if (offer := self._offers.get(handle)) and offer.runner == runner]
            for offer in offers:
                offer.held_until = self._clock() + HELD_SECONDS
            return {offer.handle for offer in offers}

    def wait_for_request(self, offer: Offer, seconds: float) -> bool:
        """Say whether a runner asked to start a serving within so many seconds."""
        with self._changed:
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
