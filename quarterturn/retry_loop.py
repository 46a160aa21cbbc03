"""Worker retry loop with exponential backoff; logs each outage once.

1. A step that raises is retried after a pause that doubles, up to half a minute.
2. An outage is logged once, in one sentence, and so is its end; the text of a foreign error, which may quote a task, is
   never logged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from quarterturn.errors import where
from vault.errors import VaultError

MAX_RETRY_DELAY_SECONDS = 30.0

log = logging.getLogger("quarterturn.worker")


class RetryLoop:
    """Repeats the steps of several threads until it is told to stop."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping, self._troubled = stopping, False

    def make(self, step: Callable[[], None]) -> None:
        """Repeat a step, whatever it raises, until it is told to stop."""
        failed = 0
        while not self._stopping.is_set():
            try:
                step()
            except Exception as error:  # a worker that ends would leave all that comes after it waiting
                self.say(error)
                self._stopping.wait(min(MAX_RETRY_DELAY_SECONDS, 2.0**failed))
                failed = min(failed + 1, 10)
            else:
                failed = 0
                if self._troubled:
                    self._troubled = False
                    log.info("It works again.")

    def say(self, error: Exception) -> None:
        """Log an outage, unless it was logged already."""
        if not self._troubled:
            self._troubled = True
            log.error("%s; trying again.", _sentence(error))


def _sentence(error: Exception) -> str:
    if isinstance(error, VaultError):
        return str(error).rstrip(".")
    return where(error)
