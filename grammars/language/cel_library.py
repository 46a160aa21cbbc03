"""The CEL library without its command line, which loads a terminal toolkit: a fifth of a second in each process."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))  # `cel` imports it and uses nothing of it

import cel  # noqa: E402 - after the line above
from cel.stdlib import STDLIB_FUNCTIONS  # noqa: E402

# The package logs what a failing function was given; drawn values may be part of a private task.
logging.getLogger("cel").addHandler(logging.NullHandler())
logging.getLogger("cel").propagate = False

__all__ = ["STDLIB_FUNCTIONS", "cel"]
