"""What a set is made of: how many tasks of which stratum a cohort holds.

Every cohort holds the same mix, so the composition of the live set never changes and a whole cohort can retire without
tilting it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rotation.errors import NotFound

COHORTS = 4


@dataclass(frozen=True, order=True, slots=True)
class Stratum:
    """A cell of the mix: tasks of one server, category and difficulty."""

    server: str
    category: str
    difficulty: str

    def __str__(self) -> str:
        return f"{self.server}/{self.category}/{self.difficulty}"


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A benchmark set.

    Attributes:
        name: what `init --set` calls it.
        per_cohort: how many tasks of each stratum one cohort holds.
        reserve: how many spare tasks of each stratum are committed beside the live set, for refills.
    """

    name: str
    per_cohort: Mapping[Stratum, int]
    reserve: int = 0

    @property
    def cohort_size(self) -> int:
        """Count the tasks of one cohort."""
        return sum(self.per_cohort.values())

    @property
    def size(self) -> int:
        """Count the live tasks."""
        return COHORTS * self.cohort_size


DEMO = SetSpec(
    "demo",
    {
        Stratum("filesystem", "single-tool", "easy"): 1,
        Stratum("filesystem", "composition", "medium"): 1,
        Stratum("git", "composition", "medium"): 1,
        Stratum("git", "recovery", "hard"): 1,
        Stratum("sqlite", "single-tool", "easy"): 1,
        Stratum("sqlite", "recovery", "hard"): 1,
    },
)

SETS: Mapping[str, SetSpec] = {DEMO.name: DEMO}


def named(name: str) -> SetSpec:
    """Look a set up.

    Raises:
        NotFound: there is no set of that name.
    """
    if name not in SETS:
        raise NotFound(f"there is no set '{name}'; the sets are: {', '.join(sorted(SETS))}")
    return SETS[name]
