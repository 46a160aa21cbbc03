"""Benchmark sets: how many tasks of each stratum (server, category, difficulty) a cohort and the dev set hold.

Every cohort holds the same mix, so the composition of the private set never changes and retiring a whole cohort keeps
it balanced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

from rotation.errors import NotFound
from vault.store.tasks import TaskRecord

COHORTS = 4
"""How many cohorts are live at once: one enters and one retires with each month."""

LIFETIME = f"P{COHORTS}M"
"""How long a cohort is live, as an ISO 8601 duration; the very first ones are live for one month to COHORTS months."""


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
        reserve: how many spare tasks of each stratum are committed beside the private set, for refills. The shipped
            sets have none: each spare would cost as much to prove and to review as a live task, and use up a skeleton
            of the runway, while a cohort is live for four months at most and a withdrawn task leaves a gap of one in
            two hundred. To have refills, set the number here; nothing else changes.
    """

    name: str
    per_cohort: Mapping[Stratum, int]
    dev: Mapping[Stratum, int] = field(default_factory=dict)
    reserve: int = 0

    @property
    def cohort_size(self) -> int:
        """Count the tasks of one cohort."""
        return sum(self.per_cohort.values())

    @property
    def size(self) -> int:
        """Count the live tasks."""
        return COHORTS * self.cohort_size

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


_DEMO = {
    Stratum("filesystem", "single-tool", "easy"): 1,
    Stratum("filesystem", "composition", "medium"): 1,
    Stratum("git", "composition", "medium"): 1,
    Stratum("git", "recovery", "hard"): 1,
    Stratum("sqlite", "single-tool", "easy"): 1,
    Stratum("sqlite", "recovery", "hard"): 1,
}

DEMO = SetSpec("demo", _DEMO, dict.fromkeys(_DEMO, 2))

_SERVERS = ["calendar", "email", "filesystem", "git", "github", "memory", "postgres", "redis", "spreadsheet", "sqlite"]
_A_SERVER = {  # in a cohort, and in the dev set
    ("composition", "easy"): (1, 1),
    ("composition", "medium"): (1, 1),
    ("composition", "hard"): (1, 1),
    ("recovery", "medium"): (1, 1),
    ("single-tool", "easy"): (1, 2),
}


def _of_each_server(column: int) -> dict[Stratum, int]:
    return {Stratum(server, *cell): count[column] for server in _SERVERS for cell, count in _A_SERVER.items()}


MCPBENCH = SetSpec("mcpbench", _of_each_server(0), _of_each_server(1))

SETS: Mapping[str, SetSpec] = {spec.name: spec for spec in (DEMO, MCPBENCH)}


def named(name: str) -> SetSpec:
    """Look a set up.

    Raises:
        NotFound: there is no set of that name.
    """
    if name not in SETS:
        raise NotFound(f"there is no set '{name}'; the sets are: {', '.join(sorted(SETS))}")
    return SETS[name]
