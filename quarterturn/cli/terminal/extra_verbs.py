"""Verbs of the extras, which are packages of ours under `extras/`; each is imported when its verb is used.

The core knows these verbs by name and first line of help, so that `--help` imports no extra, and so that a verb whose
extra is not installed says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from quarterturn import extras
from quarterturn.errors import Unavailable


class NotLoaded:
    """Stands for a verb of an extra until the verb is used."""

    rich_help_panel: Any


class GroupNotLoaded(NotLoaded, TyperGroup):
    """Stands for a group of verbs."""


class VerbNotLoaded(NotLoaded, TyperCommand):
    """Stands for a single verb."""


class ExtraVerb(NamedTuple):
    """A verb or a group of verbs: its name, the folder of its extra under `extras/`, the first line of its help.

    Attributes:
        group: the group of the core that it is in.
        alone: whether it is one verb.
    """

    name: str
    extra: str
    about: str
    group: str = ""
    alone: bool = False

    @property
    def words(self) -> str:
        """Return the verb as it is typed."""
        return f"{self.group} {self.name}".strip()

    def register(self, app: typer.Typer) -> None:
        """Add the verb, not loaded, as modules of the core add theirs."""
        if self.alone:
            app.command(self.name, cls=VerbNotLoaded, help=self.about)(lambda: None)
        else:
            app.add_typer(typer.Typer(cls=GroupNotLoaded, help=self.about), name=self.name)

    def entry_point(self) -> Any:
        """Return where the verb's function is, or None where the extra is not installed."""
        return extras.entry_point(self.extra, self.name)

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
        return extras.load(self.extra, entry)


EXPORT = ExtraVerb("export", "export", "Write public tasks and runs in the formats of other tools.")
CONVERT = ExtraVerb(
    "convert",
    "import",
    "Convert tasks of another benchmark into drafts, and report what came whole, partly or not, and why.",
    "task",
    alone=True,
)
JUDGE = ExtraVerb("judge", "judge", "The language model that judges claims about answers.")
MEASURE = ExtraVerb("measure", "measures", "Measure public runs: calls, failures and trials.", alone=True)
RATINGS = ExtraVerb("ratings", "measures", "Ratings in plain files: agreement, other thresholds.")
ATTACK = ExtraVerb("--attack", "attacks", "Run the attack suite inside a box.", "doctor")
"""An option of a verb of the core: its entry point is the function that does what it asks for."""
VERBS = {verb.name: verb for verb in (EXPORT, CONVERT, JUDGE, MEASURE, RATINGS)}
"""Verbs by name, which no two share, also in different groups."""
