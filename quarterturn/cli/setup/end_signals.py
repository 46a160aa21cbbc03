"""Waiting for SIGINT or SIGTERM, in such a way that none is lost."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def caught() -> Iterator[Callable[[], None]]:
    """Catch both signals for the block, and give what waits for the first one.

    A handler in Python runs only once the main thread runs Python again, so one that waits for a queue or an event
    sleeps on where the signal comes right before it falls asleep, or reaches another thread. The interpreter writes to
    the wake-up descriptor at once, whatever thread the signal reaches.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    handlers = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    before = signal.set_wakeup_fd(writer.fileno())
    try:
        yield lambda: _read(reader)
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        reader.close()
        writer.close()


@contextmanager
def set_by_signals(stopping: threading.Event) -> Iterator[None]:
    """Set an event at the first of both signals, for a block that looks at it again and again."""
    with caught() as wait:

        def wait_and_set() -> None:
            wait()
            stopping.set()

        threading.Thread(target=wait_and_set, name="signals", daemon=True).start()
        yield


def _read(reader: socket.socket) -> None:
    while signal.Signals(reader.recv(1)[0]) not in SIGNALS:
        pass
