"""Verbs of the extras, which are packages of ours under `extras/`; each is imported when its verb is used.

The core knows these verbs by name and first line of help, so that `--help` imports no extra, and so that a verb whose
extra is not installed says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer

from quarterturn import extras
from quarterturn.cli.terminal.verb_groups import LazyCommandInfo, load_verb
from quarterturn.errors import Unavailable


@dataclass
class ExtraVerb:
    """A verb or a group of verbs: its name, the folder of its extra under `extras/`, the first line of its help.

    Attributes:
        group: the group of the core that it is in.
    """

    name: str
    extra: str
    about: str
    group: str = ""

    @property
    def words(self) -> str:
        """Return the verb as it is typed."""
        return f"{self.group} {self.name}".strip()

    @property
    def verbs(self) -> typer.Typer:
        """Return a part of a group with this verb; its extra is imported when it is used."""
        verbs = typer.Typer()
        verbs.registered_commands.append(LazyCommandInfo(self.name, self.about, self.load, self.is_installed))
        return verbs

    def is_installed(self) -> bool:
        """Return whether the extra is installed; nothing of it is imported."""
        return extras.is_installed(self.extra)

    def entry_point(self) -> Any:
        """Return where the verb's function is, or None where the extra is not installed."""
        return extras.entry_point(self.extra, self.name)

    def load(self) -> Any:
        """Import the extra, and return the verb as a command.

        Raises:
            Unavailable: the extra is not installed, or is not ours.
        """
        section = typer.Typer()
        self.function()(section)
        return load_verb(section, self.name)

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
)
COMPARE = ExtraVerb(
    "compare", "measures", "Compare servers: the same agent on the same tasks with each of them alone.", "server"
)
JUDGE = ExtraVerb("judge", "judge", "The language model that judges claims about answers.")
MEASURE = ExtraVerb("measure", "measures", "Measure public runs: calls, failures and trials.")
RATINGS = ExtraVerb("ratings", "measures", "Ratings in plain files: agreement, other thresholds.")
ATTACK = ExtraVerb("--attack", "attacks", "Run the attack suite inside a box.", "doctor")
"""An option of a verb of the core: its entry point is the function that does what it asks for."""
VERBS = {verb.name: verb for verb in (COMPARE, EXPORT, CONVERT, JUDGE, MEASURE, RATINGS)}
"""Verbs by name, which no two share, also in different groups."""
