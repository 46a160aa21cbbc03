"""Benchmark sets: how many tasks of each stratum (server, category, difficulty) a cohort and the dev set hold.

Every cohort holds the same mix, so the composition of the private set never changes and retiring a whole cohort keeps
it balanced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Self

from rotation.errors import NotFound
from rotation.month.set_file import COHORTS, SetFile, parse
from vault.store.tasks import TaskRecord


@dataclass(frozen=True, order=True, slots=True)
class Stratum:
    """A cell of the mix: tasks of one server, category and difficulty."""

    server: str
    category: str
    difficulty: str

    @classmethod
    def of(cls, task: TaskRecord) -> Self:
        """Give the stratum of a task."""
        return cls(task.server, task.category, task.difficulty)

    def __str__(self) -> str:
        return f"{self.server}/{self.category}/{self.difficulty}"


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A benchmark set.

    Attributes:
        name: what `init --set` calls it.
        per_cohort: how many tasks of each stratum one cohort holds.
        dev: how many tasks of each stratum the public dev set holds.
        reserve: how many spare tasks of each stratum are committed beside the private set, for refills.
        cohorts: how many cohorts are live at once.
        period: how many months pass between two retirements.
    """

    name: str
    per_cohort: Mapping[Stratum, int]
    dev: Mapping[Stratum, int] = field(default_factory=dict)
    reserve: Mapping[Stratum, int] = field(default_factory=dict)
    cohorts: int = COHORTS
    period: int = 1

    @classmethod
    def of(cls, file: SetFile) -> Self:
        """Give the set of a set file."""
        rows = {
            Stratum(server, row.category, row.difficulty): row
            for server in file.servers
            for row in file.mix
            if server in row.servers
        }
        return cls(
            file.name,
            {stratum: row.cohort for stratum, row in rows.items()},
            {stratum: row.dev for stratum, row in rows.items() if row.dev},
            {stratum: row.reserve for stratum, row in rows.items() if row.reserve},
            cohorts=file.live,
            period=file.months // file.live,
        )

    @property
    def cohort_size(self) -> int:
        """Count the tasks of one cohort."""
        return sum(self.per_cohort.values())

    @property
    def size(self) -> int:
        """Count the live tasks."""
        return self.cohorts * self.cohort_size

    @property
    def lifetime(self) -> int:
        """Count the months for which a cohort is live; each of the very first ones is live for a part of them."""
        return self.cohorts * self.period

    @property
    def plan(self) -> dict[str, str | int]:
        """The plan as each `set` statement says it: the number of live cohorts, and their lifetime."""
        return {"cohorts": self.cohorts, "lifetime": f"P{self.lifetime}M"}

    @property
    def servers(self) -> list[str]:
        """List the servers whose grammars the set is drawn from."""
        return sorted({stratum.server for stratum in (*self.per_cohort, *self.dev)})

    def require_grammars(self, available: Collection[str]) -> None:
        """Refuse a set that cannot be drawn.

        Raises:
            NotFound: some of its servers have no grammar; the message names them all.
        """
        if missing := [server for server in self.servers if server not in available]:
            raise NotFound(
                f"the set '{self.name}' has tasks of {len(self.servers)} servers, and there is no grammar for "
                f"{', '.join(missing)}: write one (docs/how-to/write-a-grammar.md), or choose another set"
            )


def _shipped() -> dict[str, SetSpec]:
    folder = files("rotation.month") / "shipped_sets"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    specs = [SetSpec.of(parse(texts[name], name)) for name in sorted(texts)]
    return {spec.name: spec for spec in specs}


SETS: Mapping[str, SetSpec] = _shipped()
"""The shipped sets by name, read from `shipped_sets/`."""

DEMO, MCPBENCH = SETS["demo"], SETS["mcpbench"]


def named(name: str) -> SetSpec:
    """Look a set up.

    Raises:
        NotFound: there is no set of that name.
    """
    if name not in SETS:
        raise NotFound(f"there is no set '{name}'; the sets are: {', '.join(sorted(SETS))}")
    return SETS[name]
