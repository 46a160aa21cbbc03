"""Benchmark sets: how many tasks of each stratum (server, category, difficulty) a cohort and the dev set hold.

Every cohort holds the same mix, so the composition of the private set never changes and retiring a whole cohort keeps
it balanced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grammars.language.labels import TRAITS, Trait
from rotation.errors import Malformed, NotFound
from rotation.month.set_file import COHORTS, TRACKS, MixRow, SetFile, parse

if TYPE_CHECKING:  # loads SQLAlchemy, which sets need for nothing
    from vault.store.tasks import TaskRecord


@dataclass(frozen=True, order=True, slots=True)
class Stratum:
    """A cell of the mix: tasks of one server, category and difficulty."""

    server: str
    category: str
    difficulty: str

    @classmethod
    def of(cls, task: TaskRecord) -> Self:
        """Return the stratum of a task."""
        return cls(task.server, task.category, task.difficulty)

    def __str__(self) -> str:
        return f"{self.server}/{self.category}/{self.difficulty}"


@dataclass(frozen=True, slots=True)
class TraitQuota:
    """How many of some strata must be of tasks with a trait, or with goals in a language.

    Attributes:
        trait: what their tasks are (`grammars.language.traits`), or the BCP 47 tag of their goals' language.
        strata: those that it counts, one a server.
        least: how many of them, in each draw of a cohort and in the dev set.
    """

    trait: Trait | str
    strata: tuple[Stratum, ...]
    least: int


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
        trait_quotas: how many strata must be of several servers, or conditional, here and in the dev set.
        tracks: in which private runs may be made.
        quotas: what `init` writes into a new home's settings.
        text: the text of its set file, of which a home keeps a copy; empty for a set that was made without one.
    """

    name: str
    per_cohort: Mapping[Stratum, int]
    dev: Mapping[Stratum, int] = field(default_factory=dict)
    reserve: Mapping[Stratum, int] = field(default_factory=dict)
    cohorts: int = COHORTS
    period: int = 1
    trait_quotas: tuple[TraitQuota, ...] = ()
    tracks: tuple[str, ...] = TRACKS
    quotas: Mapping[str, int] = field(default_factory=dict)
    text: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, file: SetFile, text: str = "") -> Self:
        """Return the set of a set file, and keep its text."""
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
            trait_quotas=tuple(
                TraitQuota(trait, tuple(Stratum(server, row.category, row.difficulty) for server in row.servers), least)
                for row in file.mix
                for trait, least in _quotas(row)
            ),
            tracks=file.tracks,
            quotas=file.quotas,
            text=text,
        )

    @property
    def languages(self) -> dict[str, int]:
        """Count the tasks of a cohort by their goals' language, those in English left out."""
        counts = Counter[str]()
        for quota in self.trait_quotas:
            if quota.trait not in TRAITS:
                counts[quota.trait] += quota.least * self.per_cohort[quota.strata[0]]
        return dict(counts)

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

    @property
    def dev_servers(self) -> list[str]:
        """List the servers that the dev set has tasks of."""
        return sorted({stratum.server for stratum in self.dev})

    def require_dev_grammars(self, shipped: Collection[str]) -> None:
        """Refuse a dev set that cannot be drawn.

        Raises:
            NotFound: some of its servers have no shipped grammar; the message names them all.
        """
        if missing := [server for server in self.dev_servers if server not in shipped]:
            raise NotFound(
                f"the dev set of '{self.name}' has tasks of {', '.join(missing)}, which have no shipped grammar: dev "
                "tasks are public, so they are drawn from shipped grammars alone. Write dev = 0 for these servers"
            )


def _quotas(row: MixRow) -> Iterator[tuple[str, int]]:
    """Yield the traits and languages that a table of the mix counts; languages last, since they may be scarcest."""
    yield from ((trait, least) for trait in TRAITS if (least := getattr(row, trait)) is not None)
    yield from row.languages.items()


def _shipped() -> dict[str, SetSpec]:
    folder = files("rotation.month") / "shipped_sets"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    specs = [SetSpec.of(parse(texts[name], name), texts[name]) for name in sorted(texts)]
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
        raise NotFound(f"there is no set '{name}'; the shipped sets are: {', '.join(sorted(SETS))}")
    return SETS[name]


def read(path: Path) -> SetSpec:
    """Read a set file; a set without dev tasks of its own has the demo's, so that agents can be tried.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no set file, its numbers do not add up, or it is another set under the name of a shipped one.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"there is no set file at {path}") from None
    except IsADirectoryError:
        raise NotFound(f"{path} is a folder, and a set is a file: name the file in it") from None
    except UnicodeDecodeError:
        raise Malformed(f"{path} is not TOML: it is not UTF-8") from None
    spec = SetSpec.of(parse(text, str(path)), text)
    return spec if spec.dev else replace(spec, dev=DEMO.dev)


def chosen(name_or_file: str) -> SetSpec:
    """Return a shipped set by its name, or the set of a file, which has a name of its own.

    Raises:
        NotFound: there is neither.
        Malformed: as for `read`, or the file's set has the name of a shipped one that differs from it.
    """
    path = Path(name_or_file)
    if name_or_file in SETS or not (path.exists() or path.suffix or len(path.parts) > 1):
        return named(name_or_file)
    spec = read(path)
    if spec.name in SETS and spec != SETS[spec.name]:
        raise Malformed(f"{path}: name: '{spec.name}' is the name of a shipped set: choose another name")
    return spec
