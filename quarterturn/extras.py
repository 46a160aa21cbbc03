"""Extras, which are packages of ours under `extras/`: found by their entry points, imported where they are used.

Entry points are read of distributions with these names alone, and imported is only what lies where our extras lie
(`foreign_packages.require_extra`).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from quarterturn import foreign_packages

ENTRY_POINTS = "quarterturn.verbs"
"""The group of entry points: the name of a verb, an option or a service of the core -> the function behind it."""


def entry_point(extra: str, name: str) -> Any:
    """Return where a function of an extra is, or None where the extra is not installed; nothing of it is imported."""
    from importlib import metadata  # noqa: PLC0415 - only where an extra is used

    installed = next(iter(metadata.distributions(name=f"quarterturn-{extra}")), None)
    return next(iter(installed.entry_points.select(group=ENTRY_POINTS, name=name) if installed else ()), None)


def is_installed(extra: str) -> bool:
    """Return whether an extra is installed; to ask for its entry points would take `--help` a third of its time."""
    return find_spec(f"quarterturn_{extra}") is not None


def load(extra: str, entry: Any) -> Any:
    """Import an extra, and return what its entry point names.

    Raises:
        Unavailable: the extra is not ours.
    """
    foreign_packages.require_extra(extra, entry.module)
    return getattr(import_module(entry.module), entry.attr)
