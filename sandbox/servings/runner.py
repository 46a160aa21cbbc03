"""Runner: asks a service for servings, has each played by a supervisor, and hands in what was left.

It holds no key but that of a serving which it is about to start, and reads neither a serving nor a hand-in: both pass
through it encrypted. What it must not lose lies in the spool, so that a runner which is started again goes on with it.

Every wait is bounded. A service that does not answer is asked again with growing pauses, for as long as the runner
lives; meanwhile supervisors play on, and what they left waits in the spool.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from sandbox.errors import Kind, Malformed, SandboxError, Unavailable
from sandbox.servings.sealing import KEY_BYTES
from sandbox.servings.serving import require_handle
from sandbox.servings.spool import Spool, SpoolState
from sandbox.servings.supervisor import SupervisorRequest, Supervisors

RENEW_SECONDS = 15.0
"""Between two words to the service that what is played is still played."""
TAKE_SECONDS = 10.0
"""How long the service may let one question for work wait."""
AHEAD_SECONDS = 2.0
"""Between two questions for work while something is played here."""
LOOK_SECONDS = 0.2
"""Between two looks at the spool while servings are played."""
MAX_PAUSE_SECONDS = 30.0
"""Between two questions to a service that does not answer."""

T = TypeVar("T")
log = logging.getLogger("quarterturn.runner")


class Gone(SandboxError):
    """The service wants no more of this serving: its run was closed, or somebody else has it."""

    kind: ClassVar[Kind] = "not-allowed"


@dataclass(frozen=True, slots=True)
class SealedServing:
    """A serving that travels ahead.

    Attributes:
        handle: its name.
        ciphertext: the serving, under a key that the service gives when it is started.
    """

    handle: str
    ciphertext: bytes = field(repr=False)


class RunnerService(Protocol):
    """The service, as its runner sees it. Each method raises `Unavailable` where it cannot be reached now."""

    def register(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say what this runner is; return what the service is, with its `public_key` in hexadecimal."""
        ...

    def take(self, seconds: float) -> SealedServing | None:
        """Return the next serving, or None where there is none within `seconds`."""
        ...

    def start(self, handle: str) -> bytes:
        """Return a serving's key, once its exposure is recorded; the same again for the runner that took it.

        Raises:
            Gone: it is not to be played any more.
        """
        ...

    def alive(self, handles: Collection[str]) -> Collection[str]:
        """Say which servings this runner has, and return those of them that are still wanted."""
        ...

    def report_failure(self, handle: str, *, agent_started: bool) -> None:
        """Report that a serving ended and left nothing; a second time changes nothing.

        Raises:
            Gone: it is not this runner's.
        """
        ...

    def hand_in(self, handle: str, sealed: BinaryIO) -> None:
        """Hand in what was left; a second time changes nothing.

        Raises:
            Gone: its run was closed.
        """
        ...


class Runner:
    """Runner of one service.

    Args:
        service: whom it works for.
        spool: where what is left lies until it is handed in.
        about: what the service is told of it: class, boxes, size, digests of its servers.
        supervisors: who starts the processes that play.
        places: how many servings are played at a time.
        clock: a monotonic clock in seconds.
    """

    def __init__(
        self,
        service: RunnerService,
        spool: Spool,
        about: Mapping[str, Any],
        supervisors: Supervisors,
        *,
        places: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service, self._spool, self._about, self._supervisors = service, spool, about, supervisors
        self._places, self._clock = places, clock
        self._public_key: bytes | None = None
        self._next: SealedServing | None = None
        self._renewed = float("-inf")
        self._took = float("-inf")
        self._pause = 0.0
        self._asked_again = float("-inf")

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; servings that are played then go on, for whoever works here next."""
        with self._spool.owned():
            self._spool.note_start()
            while not stop.is_set():
                if not self.step():
                    stop.wait(LOOK_SECONDS)

    def step(self) -> bool:
        """Do what there is to do now, and say whether there may be more of it at once."""
        if self._clock() < self._asked_again:
            return False
        try:
            progress = self._work()
        except Unavailable as error:
            if not self._pause:
                log.warning("the service does not answer; servings are played on, and it is asked again: %s", error)
            self._pause = min(max(2 * self._pause, 1.0), MAX_PAUSE_SECONDS)
            self._asked_again = self._clock() + self._pause
            return False
        if self._pause:
            log.info("the service answers again")
        self._pause = 0.0
        return progress

    def _work(self) -> bool:
        """Register, hand in, renew, and begin: in this order, so that what is there comes first.

        Raises:
            Unavailable: the service does not answer; nothing is lost by that.
        """
        if self._public_key is None:
            self._public_key = _public_key_of(self._service.register(self._about))
        states = self._spool.states()
        reserved = self._next.handle if self._next else None  # its key may have to be asked for again
        for handle, state in states.items():
            if state != "playing" and handle != reserved:
                self._settle(handle, state)
        playing = [handle for handle, state in states.items() if state == "playing"]
        if self._clock() >= self._renewed + RENEW_SECONDS:
            self._renew(playing)
        if self._next is None and (not playing or self._clock() >= self._took + AHEAD_SECONDS):
            self._took = self._clock()
            self._next = self._service.take(0.0 if playing else TAKE_SECONDS)
        if self._next is None or len(playing) >= self._places:
            return False
        self._begin(self._next, self._public_key)
        return True

    def _settle(self, handle: str, state: SpoolState) -> None:
        """Hand in what was left, or report that nothing was."""
        try:
            if state == "finished":
                with self._spool.open(handle) as sealed:
                    self._service.hand_in(handle, sealed)
                log.info("serving %s: handed in", handle)
            else:
                self._service.report_failure(handle, agent_started=state == "died")  # as if not, where it was cut off
                log.error("serving %s: its supervisor is gone and left nothing; the service was told", handle)
        except Gone:
            log.info("serving %s: its run was closed; what was left is discarded", handle)
        self._spool.remove(handle)

    def _renew(self, playing: Collection[str]) -> None:
        """Say what is played and what waits here, and end what is not wanted any more."""
        waiting = [self._next.handle] if self._next else []
        wanted = self._service.alive([*playing, *waiting])
        self._renewed = self._clock()
        for handle in playing:
            if handle not in wanted:
                log.info("serving %s: not wanted any more", handle)
                self._spool.end(handle)
        if waiting and waiting[0] not in wanted:
            self._next = None

    def _begin(self, sealed: SealedServing, public_key: bytes) -> None:
        """Ask for its key, which records its exposure, and start its supervisor."""
        handle = require_handle(sealed.handle)
        self._spool.reserve(handle)
        try:
            key = self._service.start(handle)
        except Gone:
            log.info("serving %s: gone before it was started", handle)
            self._spool.remove(handle)
            self._next = None
            return
        if len(key) != KEY_BYTES:
            raise Malformed(f"the service gave a key of {len(key)} bytes for serving {handle}")
        request = SupervisorRequest(handle, sealed.ciphertext, key, public_key, self._spool.folder)
        self._supervisors.start(request)
        log.info("serving %s: started", handle)
        self._next = None


def _public_key_of(document: Mapping[str, Any]) -> bytes:
    """Return the service's public key.

    Raises:
        Malformed: it gave none.
    """
    try:
        key = bytes.fromhex(document["public_key"])
    except (KeyError, TypeError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Malformed("the service gave no public key: 64 hexadecimal digits at $.public_key")
    return key
