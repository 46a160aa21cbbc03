"""`grammar check`: how many tasks a grammar can give, and how many months they last in a home's set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grammars.admission.coverage import Coverage, check, runway
from grammars.errors import GrammarError
from grammars.language.derivation import skeletons
from grammars.language.grammar import CATEGORIES, Grammar
from grammars.language.load import load
from quarterturn.app import Application
from quarterturn.report import Report
from quarterturn.tasks import dev_sets
from rotation.month.sets import SetSpec
from sandbox.servers.registry import tool_table
from vault.task.variant import LEAST_BITS
from verifiers.errors import VerifierError
from verifiers.language.catalogue import CATALOGUE

POLL = 0.3
"""Seconds between two looks at the files."""


@dataclass(frozen=True)
class Used:
    """Which skeletons a home has used, and what its set takes each month."""

    live: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    monthly: Mapping[str, int] = field(default_factory=dict)


def used(house: Application, grammar: Grammar) -> Used:
    """Turn the home's tags back into the ids of this grammar's skeletons."""
    live, seen = house.months.taken(), house.months.seen()
    public = {draft.skeleton for draft in dev_sets.public(house.grammars)}  # everybody knows them
    tags = {skeleton.id: house.vault.tag("skeleton", skeleton.id) for skeleton in skeletons(grammar)}
    return Used(
        frozenset(name for name, tag in tags.items() if tag in live),
        frozenset(name for name, tag in tags.items() if tag in seen or name in public),
        monthly(house.spec, grammar.server),
    )


def monthly(spec: SetSpec, server: str) -> dict[str, int]:
    """Count what a cohort takes of one server, by category."""
    return {
        category: sum(n for s, n in spec.per_cohort.items() if (s.server, s.category) == (server, category))
        for category in CATEGORIES
    }


def read(source: str | Path) -> Grammar:
    """Load a grammar, checked against the pinned tools and the known predicates."""
    return load(source, tools=tool_table(), predicates=CATALOGUE)


def report(grammar: Grammar, use: Used) -> Report:
    """Draw from every skeleton and say what there is; the answer is no where draws are nearly the same."""
    coverage = check(grammar, seen=use.seen, live=use.live)
    months = runway(coverage, use.monthly)
    data = {
        "server": grammar.server,
        "templates": [asdict(entry) | {"traceable": entry.traceable} for entry in coverage],
        "runway_months": months,
    }
    lines = [HEAD, *map(_line, coverage), *_untraceable(coverage), *_runway(months)]
    return Report(data, lines, not any(entry.near for entry in coverage))


HEAD = (
    f"{'template':<34} {'unseen':>6} {'live':>5} {'seen':>5} {'bits':>6} {'phrasings':>9} {'paths':>5} {'mutants':>7} "
    f"{'tries':>6} {'near':>5} {'free':>5}"
)


def _line(entry: Coverage) -> str:
    return (
        f"{entry.template:<34} {entry.unseen:>6} {entry.live:>5} {entry.seen:>5} {entry.bits:>6.1f} "
        f"{entry.phrasings:>9} {entry.solutions:>5} {entry.mutants:>7} "
        f"{entry.tries:>6.2f} {entry.near:>5} {entry.free:>5.1f}"
        f"{'' if entry.traceable else '  not traceable'}"
    )


def _untraceable(coverage: Sequence[Coverage]) -> Iterator[str]:
    if missing := sum(not entry.traceable for entry in coverage):
        yield (
            f"{missing} of {len(coverage)} templates make tasks that cannot be traced once they leak: they have fewer "
            f"than {LEAST_BITS} bits of free parameters"
        )


def _runway(months: Mapping[str, float]) -> Iterator[str]:
    for category, left in months.items():
        yield f"{category:<12} unseen skeletons for {left:.0f} months"


def watch(source: Path, show: Callable[[Report], None], use: Callable[[Grammar], Used]) -> None:
    """Check again each time that a file changes, until interrupted; a mistake is shown as its sentence."""
    last = None
    while True:
        now = _stamps(source)
        if now != last:
            last = now
            try:
                grammar = read(source)
                show(report(grammar, use(grammar)))
            except (GrammarError, VerifierError) as error:
                show(Report({"error": str(error)}, [str(error)], ok=False))
        time.sleep(POLL)


def _stamps(source: Path) -> dict[Path, int]:
    files = source.rglob("*.yaml") if source.is_dir() else [source]
    return {file: file.stat().st_mtime_ns for file in files if file.exists()}
