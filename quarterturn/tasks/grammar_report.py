"""Report on a grammar: how many tasks it can give, and how many months they last in a home's set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grammars.admission.coverage import Coverage, check, runway
from grammars.admission.traceability import MONTHS, enough
from grammars.language.grammar import Grammar
from grammars.language.labels import CATEGORIES
from rotation.generation.known_tasks import UsedSkeletons
from rotation.month.sets import SetSpec

POLL = 0.3
"""Seconds between two looks at the files."""


@dataclass(frozen=True, slots=True)
class GrammarReport:
    """What a grammar can give.

    Attributes:
        server: whose grammar it is.
        templates: what there is of each template.
        runway: by category, for how many months the unseen skeletons last.
        choices: how many choices a free parameter needs, for a task to be traced well.
    """

    server: str
    templates: Sequence[Coverage]
    runway: Mapping[str, float]
    choices: int

    @property
    def ok(self) -> bool:
        """Whether no two draws are nearly the same."""
        return not any(template.near for template in self.templates)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "server": self.server,
            "templates": [asdict(template) | {"traceable": template.traceable} for template in self.templates],
            "runway_months": self.runway,
            "choices_needed": self.choices,
        }


def report(
    grammar: Grammar,
    used: UsedSkeletons | None = None,
    monthly: Mapping[str, int] = MappingProxyType({}),
    months: int = MONTHS,
) -> GrammarReport:
    """Draw from every skeleton and say what there is.

    Args:
        grammar: what to draw from.
        used: the skeletons that a home has used.
        monthly: what its set takes in a month, by category.
        months: for how many months a task of its set is live.
    """
    used = used or UsedSkeletons()
    coverage = check(grammar, seen=used.seen, live=used.live, months=months)
    return GrammarReport(grammar.server, coverage, runway(coverage, monthly), enough(months))


def monthly(spec: SetSpec, server: str) -> dict[str, int]:
    """Count what a cohort takes of one server, by category."""
    return {
        category: sum(n for s, n in spec.per_cohort.items() if (s.server, s.category) == (server, category))
        for category in CATEGORIES
    }


def changes(source: Path) -> Iterator[None]:
    """Yield at once, and again each time that a file of a grammar changes; never ends."""
    last = None
    while True:
        if (now := _stamps(source)) != last:
            last = now
            yield
        time.sleep(POLL)


def _stamps(source: Path) -> dict[Path, int]:
    files = source.rglob("*.yaml") if source.is_dir() else [source]
    return {file: file.stat().st_mtime_ns for file in files if file.exists()}
