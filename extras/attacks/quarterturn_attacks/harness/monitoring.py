"""Monitors our own processes during an attack scenario: the memory of its gateway, and the runner's log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self


class Heard(logging.Handler):
    """Log handler that keeps the records logged while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(record.getMessage())

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


@contextmanager
def gateways_watched() -> Iterator[list[int]]:
    """Note the most memory that any gateway of ours holds meanwhile; a sample every few hundredths of a second."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.03):
            peak[0] = max([peak[0], *map(_peak, _gateways())])

    thread = threading.Thread(target=watch, name="gateway-watch", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _gateways() -> Iterator[str]:
    """Yield the processes that were forked from a fork server of ours."""
    for child in _children("self"):
        with suppress(OSError):
            if b"sandbox.gateway.forkserver" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield from _children(child)


def _children(process: str) -> Iterator[str]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            yield from (task / "children").read_text().split()


def _peak(process: str) -> int:
    with suppress(OSError, IndexError, ValueError):
        status = Path(f"/proc/{process}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    return 0
