"""Event streams of submissions: one thread polls the database for all open streams of this process.

1. It polls every watched submission once a second, in one query, and only while there are any.
2. A stream gets each change, and nothing else; of several changes between two polls it gets the last state.
3. Of a private run a stream gets changes of state alone; its worker closes it on a full minute (`runs.jobs`).
4. An account may have a few streams at a time: each is a connection that stays open.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

EVERY = 1.0  # seconds between looks
MAX_STREAMS_PER_ACCOUNT = 10


class Look(NamedTuple):
    """A submission's state, its JSON as its owner may see it, and whether it is a private run."""

    state: str
    data: bytes
    private: bool = False


class Crowded(Exception):
    """An account has as many event streams as it may."""


log = logging.getLogger("quarterturn.service")


@dataclass(eq=False, slots=True)
class _Watcher:
    name: str
    account: str
    last: Look
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    heard: asyncio.Queue[Look] = field(default_factory=asyncio.Queue)

    def tell(self, look: Look) -> None:
        changed = look.state != self.last.state if look.private else look != self.last
        if changed:
            self.last = look
            self.loop.call_soon_threadsafe(self.heard.put_nowait, look)


class Watchers:
    """The open event streams.

    Args:
        look: gives the looks of the submissions of these names.
    """

    def __init__(self, look: Callable[[Collection[str]], Mapping[str, Look]]) -> None:
        self._look = look
        self._all: set[_Watcher] = set()
        self._some = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, name: str, account: str, last: Look) -> Iterator[asyncio.Queue[Look]]:
        """Register a stream, and give the queue of a submission's changes from `last` on.

        Raises:
            Crowded: the account has as many streams as it may.
        """
        watcher = _Watcher(name, account, last)
        with self._some:
            if Counter(other.account for other in self._all)[account] >= MAX_STREAMS_PER_ACCOUNT:
                raise Crowded
            self._all.add(watcher)
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="watchers", daemon=True)
                self._thread.start()
        try:
            yield watcher.heard
        finally:
            with self._some:
                self._all.discard(watcher)
                self._some.notify()

    def _poll(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: not self._all, EVERY)
                if not self._all:
                    self._thread = None
                    return
                watched = list(self._all)
            try:
                looks = self._look({watcher.name for watcher in watched})
                for watcher in watched:
                    if watcher.name in looks:
                        watcher.tell(looks[watcher.name])
            except Exception as error:  # whoever watches would hear nothing any more
                log.error("%s while looking at what is watched", type(error).__name__)  # noqa: TRY400 - its words may quote a task
