"""Results of the benchmarks: as data, as one JSON object, and as Markdown tables."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measure import Comparison

CAVEAT = (
    "A ratio is the time of what is measured over the time of what it stands beside, both taken in turns in this one "
    "run; shown are the median of the rounds' ratios, the smallest and the largest. Machines are noisy: the control "
    "says how far the ratio of two equal things strays."
)


class Missing(Exception):
    """Raised where something that a bench needs is missing; the message says what to do."""


class Failed(Exception):
    """Raised where the measured work failed, so that its time means nothing; the message says what happened."""


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison.

    Attributes:
        what: what was measured.
        beside: its floor.
        comparison: the rounds.
        unit: what one unit of our work is called, where its rate is of interest.
    """

    what: str
    beside: str
    comparison: Comparison
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Phases:
    """Durations of the phases of whole runs.

    Attributes:
        what: which runs.
        runs: seconds by phase, one mapping a run.
    """

    what: str
    runs: Sequence[Mapping[str, float]]

    def medians(self) -> dict[str, float]:
        """Return the median seconds by phase."""
        return {name: statistics.median(run.get(name, 0.0) for run in self.runs) for name in self.runs[0]}


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that are no single comparison: a sentence about them, the names of the columns, and the rows."""

    about: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one bench.

    Attributes:
        about: what it compares with what, in one paragraph.
        lines: its comparisons.
        phases: where the time of whole runs went, for benches that make runs.
        remarks: sentences about what was left out.
        tables: other figures.
    """

    about: str
    lines: Sequence[Line]
    phases: Sequence[Phases] = ()
    remarks: Sequence[str] = ()
    tables: Sequence[Table] = ()


def machine() -> dict[str, Any]:
    """Describe this machine as far as the figures depend on it."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def as_json(found: Found) -> dict[str, Any]:
    """Return one bench as plain JSON values."""
    return {
        "about": found.about,
        "lines": [_line(line) for line in found.lines],
        "phases": [_phases(phases) for phases in found.phases],
        "remarks": list(found.remarks),
        "tables": [{"about": table.about, "rows": [dict(row) for row in table.rows]} for table in found.tables],
    }


def _line(line: Line) -> dict[str, Any]:
    seen = line.comparison
    document: dict[str, Any] = {
        "what": line.what,
        "beside": line.beside,
        "ratio": {"median": rounded(seen.median), "min": rounded(seen.low), "max": rounded(seen.high)},
        "rounds": seen.rounds,
    }
    return document | ({"rate": {"per_second": rounded(seen.rate), "unit": line.unit}} if line.unit else {})


def _phases(phases: Phases) -> dict[str, Any]:
    medians = phases.medians()
    whole = sum(medians.values())
    shares = {name: {"share": rounded(value / whole), "seconds": rounded(value)} for name, value in medians.items()}
    return {"of": phases.what, "runs": len(phases.runs), "phases": shares}


def as_table(name: str, found: Found) -> str:
    """Return one bench as Markdown."""
    return "\n".join([f"## {name}", "", found.about, "", *_tables(found)])


def _tables(found: Found) -> Iterator[str]:
    rows = [("measured", "beside", "ratio", "min to max", "rounds", "rate")]
    for line in found.lines:
        seen = line.comparison
        span = f"{_short(seen.low)} to {_short(seen.high)}"
        rate = f"{_short(seen.rate)} {line.unit}/s" if line.unit else ""
        rows.append((line.what, line.beside, f"**{_short(seen.median)}**", span, str(seen.rounds), rate))
    yield from _table(rows) if found.lines else ()
    for table in found.tables:
        yield f"{table.about}\n"
        yield from _table(
            [tuple(table.columns), *(tuple(str(row[name]) for name in table.columns) for row in table.rows)]
        )
    for phases in found.phases:
        yield f"Where the time goes in {phases.what} (medians of {len(phases.runs)}):\n"
        medians = phases.medians()
        whole = sum(medians.values())
        shares = [(name, f"{value / whole:.0%}", f"{value:.3f} s") for name, value in medians.items()]
        yield from _table([("phase", "share", "median"), *shares])
    for remark in found.remarks:
        yield f"{remark}\n"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield ""


def rounded(value: float) -> float:
    """Keep three significant digits: the rest is noise."""
    return float(f"{value:.3g}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
