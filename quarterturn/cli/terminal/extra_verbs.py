"""Verbs of the extras, which are packages of ours under `extras/`; each is imported when its verb is used.

The core knows these verbs by name and first line of help, so that `--help` imports no extra, and so that a verb whose
extra is not installed says so. Entry points are read of distributions with these names alone, and imported is only what
lies where our extras lie (`foreign_packages.require_extra`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer
import typer.main
from typer.core import TyperGroup

from quarterturn import foreign_packages
from quarterturn.errors import Unavailable

ENTRY_POINTS = "quarterturn.verbs"
"""The group of entry points: a verb's name -> the function that adds the verb to a `typer.Typer`."""


class NotLoaded(TyperGroup):
    """Stands for a verb of an extra until the verb is used."""


class ExtraVerb(NamedTuple):
    """A verb: its name, the folder of its extra under `extras/`, and the first line of its help."""

    name: str
    extra: str
    about: str

    def register(self, app: typer.Typer) -> None:
        """Add the verb, not loaded, as modules of the core add theirs."""
        app.add_typer(typer.Typer(cls=NotLoaded, help=self.about), name=self.name)

    def entry_point(self) -> Any:
        """Return where the verb's function is, or None where the extra is not installed; nothing of it is imported."""
        from importlib import metadata

        installed = next(iter(metadata.distributions(name=f"quarterturn-{self.extra}")), None)
        points = installed.entry_points.select(group=ENTRY_POINTS, name=self.name) if installed else ()
        return next(iter(points), None)

    def load(self) -> Any:
        """Import the extra, and return the verb as a command.

        Raises:
            Unavailable: the extra is not installed, or is not ours.
        """
        if (entry := self.entry_point()) is None:
            raise Unavailable(
                f"`{self.name}` is in the extra `quarterturn-{self.extra}`, which is not installed: `./run setup` in "
                "the checkout installs it"
            )
        foreign_packages.require_extra(self.extra, entry.module)
        section = typer.Typer(rich_markup_mode=None)  # as the core's
        getattr(import_module(entry.module), entry.attr)(section)
        return typer.main.get_group(section).commands[self.name]


EXPORT = ExtraVerb("export", "export", "Write public tasks and runs in the formats of other tools.")
VERBS = {verb.name: verb for verb in (EXPORT,)}
