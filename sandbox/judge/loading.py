"""Preloads, in a fork server, what a reader or judge may need once it can no longer open files."""

from __future__ import annotations

import encodings
import importlib
import pkgutil
from contextlib import suppress

from sandbox.isolation.confine import leave

ALSO = ("_strptime", "binascii", "decimal", "lzma", "bz2", "sqlite3", "stringprep", "unicodedata", "zlib")


def prepare() -> frozenset[str]:
    """Load every text encoding and what the standard library loads late, and leave networks and files behind.

    Gives those of the two that stay within reach (`sandbox.isolation.confine.leave`).
    """
    for name in (*(f"encodings.{module.name}" for module in pkgutil.iter_modules(encodings.__path__)), *ALSO):
        with suppress(ImportError):  # encodings of another system
            importlib.import_module(name)
    return leave()
