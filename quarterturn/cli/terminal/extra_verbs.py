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
from typer.core import TyperCommand, TyperGroup

from quarterturn import foreign_packages
from quarterturn.errors import Unavailable

ENTRY_POINTS = "quarterturn.verbs"
"""The group of entry points: a verb's name -> the function that adds the verb to a `typer.Typer`."""


class NotLoaded:
    """Stands for a verb of an extra until the verb is used."""

    rich_help_panel: Any


class GroupNotLoaded(NotLoaded, TyperGroup):
    """Stands for a group of verbs."""


class VerbNotLoaded(NotLoaded, TyperCommand):
    """Stands for a verb of a group."""


class ExtraVerb(NamedTuple):
    """A verb: its name, the folder of its extra under `extras/`, the first line of its help, and the group it is in."""

    name: str
    extra: str
    about: str
    group: str = ""

    @property
    def words(self) -> str:
        """Return the verb as it is typed."""
        return f"{self.group} {self.name}".strip()

    def register(self, app: typer.Typer) -> None:
        """Add the verb, not loaded, as modules of the core add theirs."""
        if self.group:
            app.command(self.name, cls=VerbNotLoaded, help=self.about)(lambda: None)
        else:
            app.add_typer(typer.Typer(cls=GroupNotLoaded, help=self.about), name=self.name)

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
        section = typer.Typer(rich_markup_mode=None)  # as the core's
        self.function()(section)
        return typer.main.get_group(section).commands[self.name]

    def function(self) -> Any:
        """Import the extra, and return what its entry point names.

        Raises:
            Unavailable: the extra is not installed, or is not ours.
        """
        if (entry := self.entry_point()) is None:
            raise Unavailable(
                f"`{self.words}` is in the extra `quarterturn-{self.extra}`, which is not installed: `./run setup` in "
                "the checkout installs it"
            )
        foreign_packages.require_extra(self.extra, entry.module)
        return getattr(import_module(entry.module), entry.attr)


EXPORT = ExtraVerb("export", "export", "Write public tasks and runs in the formats of other tools.")
CONVERT = ExtraVerb(
    "convert",
    "import",
    "Convert tasks of another benchmark into drafts, and report what came whole, partly or not, and why.",
    "task",
)
RATINGS = ExtraVerb("ratings", "ratings", "Ratings in plain files: agreement, other thresholds.")
ATTACK = ExtraVerb("--attack", "attacks", "Run the attack suite inside a box.", "doctor")
"""An option of a verb of the core: its entry point is the function that does what it asks for."""
VERBS = {verb.name: verb for verb in (EXPORT, CONVERT, RATINGS)}
"""Verbs by name, which no two share, also in different groups."""
