"""Process log of `serve`, `worker` and the witness: a line an event, readable on a terminal, otherwise JSON.

Every record, of our own modules and of every library, passes the one redactor. Who requested what is not logged. An
exception that ends a thread is logged without its message; logging's own error output, which quotes arguments, is off.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import TextIO

import structlog
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

from quarterturn.errors import where
from quarterturn.redactor import REDACTOR

OURS = "quarterturn"

log = logging.getLogger(OURS)


def configure(stream: TextIO | None = None) -> None:
    """Send the log to `stream`, which is standard error unless another is named."""
    stream = stream or sys.stderr
    people = stream.isatty()
    last = structlog.dev.ConsoleRenderer(colors=True) if people else structlog.processors.JSONRenderer(sort_keys=True)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[
                add_log_level,
                add_logger_name,
                ExtraAdder(),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                REDACTOR,
            ],
            processors=[ProcessorFormatter.remove_processors_meta, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # what it would print beside the log quotes the arguments
    threading.excepthook = _ended


def _ended(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None:
        log.error("a thread ended: %s", where(ended.exc_value))
