"""Report on a set: what it comes to, and how long the skeletons of given grammars last for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from grammars.errors import Exhausted
from grammars.language.derivation import skeletons
from grammars.language.grammar import Grammar
from grammars.language.labels import CATEGORIES
from rotation.generation import make_up
from rotation.generation.make_up import MakeUp
from rotation.month.sets import SetSpec, Stratum


@dataclass(frozen=True, slots=True)
class SetRow:
    """The tasks of one server and category.

    Attributes:
        cohort: in each cohort.
        live: in all live cohorts.
        reserve: in the reserve.
        dev: in the dev set.
        skeletons: how many skeletons the grammar has; None where there is no grammar to count.
        months: for how many months they keep the set full, from the first one on; None likewise.
    """

    server: str
    category: str
    cohort: int
    live: int
    reserve: int
    dev: int
    skeletons: int | None
    months: int | None

    @property
    def enough(self) -> bool:
        """Whether there are skeletons for the dev set, the first cohorts and the reserve."""
        return self.skeletons is None or self.live + self.reserve + self.dev <= self.skeletons


@dataclass(frozen=True, slots=True)
class SetReport:
    """What a set comes to.

    Attributes:
        spec: the set.
        rows: its tasks by server and category.
        kinds: the make-up of a `cohort` and of the `dev` set; empty where a server has no grammar to draw from, or too
            few skeletons.
        templates: of the grammars that there are, how many there are, and how many rule twins out (`exact`).
    """

    spec: SetSpec
    rows: tuple[SetRow, ...]
    kinds: Mapping[str, MakeUp]
    templates: tuple[int, int] = (0, 0)

    @property
    def ok(self) -> bool:
        """Whether the first cohorts, the reserve and the dev set can be drawn, as far as grammars are known."""
        return all(row.enough for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        spec = self.spec
        return {
            "name": spec.name,
            "size": spec.size,
            "cohorts": spec.cohorts,
            "lifetime": spec.plan["lifetime"],
            "period_months": spec.period,
            "cohort_size": spec.cohort_size,
            "reserve": sum(spec.reserve.values()),
            "dev": sum(spec.dev.values()),
            "tracks": list(spec.tracks),
            "quotas": dict(spec.quotas),
            "rows": [asdict(row) for row in self.rows],
            "templates": {"all": self.templates[0], "exact": self.templates[1]},
            "make_up": {name: asdict(kinds) for name, kinds in self.kinds.items()},
        }


def report(spec: SetSpec, grammars: Mapping[str, Grammar]) -> SetReport:
    """Count the tasks of a set by server and category, and the skeletons of those grammars that there are.

    Raises:
        Refused: fewer servers have skeletons of a kind (of several servers, conditional) than the set wants.
    """
    rows = tuple(_rows(spec, grammars))
    drawable = all(row.enough for row in rows) and set(spec.servers) <= set(grammars)
    templates = [template for grammar in grammars.values() for template in grammar.templates.values()]
    counts = len(templates), sum(template.is_exact for template in templates)
    return SetReport(spec, rows, dict(_kinds(spec, grammars)) if drawable else {}, counts)


def _kinds(spec: SetSpec, grammars: Mapping[str, Grammar]) -> Iterator[tuple[str, MakeUp]]:
    with suppress(Exhausted):  # a category has enough skeletons, and one of its difficulties has not
        yield "cohort", make_up.cohort(spec, grammars)
        if spec.dev:
            yield "dev", make_up.dev(spec)


def _rows(spec: SetSpec, grammars: Mapping[str, Grammar]) -> Iterator[SetRow]:
    cohort, reserve, dev = (_by_category(mix) for mix in (spec.per_cohort, spec.reserve, spec.dev))
    for server in spec.servers:
        grammar = grammars.get(server)
        there = Counter(skeleton.category for skeleton in skeletons(grammar)) if grammar else None
        for category in CATEGORIES:
            cell = server, category
            if not cohort[cell] and not dev[cell]:
                continue
            have = there[category] if there is not None else None
            live, months = spec.cohorts * cohort[cell], None
            if have is not None and cohort[cell]:
                later = max(0, have - dev[cell] - reserve[cell] - live) // cohort[cell]
                months = (1 + later) * spec.period if have >= live + reserve[cell] + dev[cell] else 0
            yield SetRow(server, category, cohort[cell], live, reserve[cell], dev[cell], have, months)


def _by_category(mix: Mapping[Stratum, int]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for stratum, count in mix.items():
        counts[stratum.server, stratum.category] += count
    return counts
