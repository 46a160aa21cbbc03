"""Text of `grammar check`: a line for each template, kinds of tasks, what cannot be traced, and months left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grammars.admission.coverage import Coverage
from grammars.language.labels import TRAITS
from quarterturn.tasks.grammar_report import GrammarReport
from vault.task.variant import LEAST_BITS

HEAD = (
    f"{'template':<34} {'unseen':>6} {'live':>5} {'seen':>5} {'bits':>6} {'phrasings':>9} {'paths':>5} {'mutants':>7} "
    f"{'tries':>6} {'near':>5} {'free':>5}"
)


def lines(report: GrammarReport) -> Iterator[str]:
    """Describe a grammar."""
    yield HEAD
    yield from map(_line, report.templates)
    yield _kinds(report.templates)
    if missing := sum(not entry.traceable for entry in report.templates):
        yield (
            f"{missing} of {len(report.templates)} templates make tasks that cannot be traced once they leak: they "
            f"have fewer than {LEAST_BITS} bits of free parameters"
        )
    if exact := sum(bool(entry.exact) for entry in report.templates):
        yield f"{exact} of {len(report.templates)} templates rule out a right form (`exact`): at most a tenth should"
    for entry in report.templates:
        for clause, count in entry.lacks.items():
            yield f"{entry.template}: {_tasks_of(count)} lack free values to be traced from a part of a text: {clause}"
    for category, left in report.runway.items():
        yield f"{category:<12} unseen skeletons for {left:.0f} months"


def _tasks_of(skeletons: int) -> str:
    return f"tasks of {skeletons} skeleton{'' if skeletons == 1 else 's'}"


def _kinds(templates: Sequence[Coverage]) -> str:
    every = sum(entry.unseen + entry.live + entry.seen for entry in templates)
    several, conditional = (sum(getattr(entry, trait) for entry in templates) for trait in TRAITS)
    return f"{every} skeletons: {several} make tasks of several servers, {conditional} make conditional tasks"


def _line(entry: Coverage) -> str:
    return (
        f"{entry.template:<34} {entry.unseen:>6} {entry.live:>5} {entry.seen:>5} {entry.bits:>6.1f} "
        f"{entry.phrasings:>9} {entry.solutions:>5} {entry.mutants:>7} "
        f"{entry.tries:>6.2f} {entry.near:>5} {entry.free:>5.1f}"
        f"{'' if entry.traceable else '  not traceable'}"
        f"{'  also in ' + ', '.join(entry.languages) if entry.languages else ''}"
    )
