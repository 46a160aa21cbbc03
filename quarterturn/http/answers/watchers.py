"""Whoever watches a submission: one thread of this process looks at the database for all of them.

1. It looks once a second at every submission that is watched, in one query, and only while there are any.
2. A watcher hears each change, and nothing else; what happened between two looks is heard as its outcome.
3. A token may watch a few at a time: each is a connection that stays open.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

EVERY = 1.0  # seconds between looks
MOST = 10  # of one token

Look = tuple[str, bytes]
"""A submission's state, and what its owner may know of it."""

log = logging.getLogger("quarterturn.http")


@dataclass(eq=False, slots=True)
class _Watcher:
    name: str
    token: int
    last: Look | None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    heard: asyncio.Queue[Look] = field(default_factory=asyncio.Queue)

    def tell(self, look: Look) -> None:
        if look != self.last:
            self.last = look
            self.loop.call_soon_threadsafe(self.heard.put_nowait, look)


class Watchers:
    """All who watch.

    Args:
        look: gives the looks of the submissions of these names.
    """

    def __init__(self, look: Callable[[Collection[str]], Mapping[str, Look]]) -> None:
        self._look = look
        self._all: set[_Watcher] = set()
        self._some = threading.Condition()
        self._thread: threading.Thread | None = None

    def crowded(self, token: int) -> bool:
        """Say whether a token watches as many as it may."""
        with self._some:
            return Counter(one.token for one in self._all)[token] >= MOST

    @contextmanager
    def watching(self, name: str, token: int, last: Look) -> Iterator[asyncio.Queue[Look]]:
        """Hear what becomes of a submission from `last` on."""
        one = _Watcher(name, token, last)
        with self._some:
            self._all.add(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="watchers", daemon=True)
                self._thread.start()
        try:
            yield one.heard
        finally:
            with self._some:
                self._all.discard(one)
                self._some.notify()

    def _poll(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: not self._all, EVERY)
                if not self._all:
                    self._thread = None
                    return
                watched = tuple(self._all)
            try:
                looks = self._look({one.name for one in watched})
                for one in watched:
                    if one.name in looks:
                        one.tell(looks[one.name])
            except Exception as error:  # whoever watches would hear nothing any more
                log.error("%s while looking at what is watched", type(error).__name__)  # noqa: TRY400 - its words may quote a task
