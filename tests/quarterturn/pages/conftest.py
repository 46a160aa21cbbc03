"""Fixtures for page tests: figures from the simulated worlds that the detectors are tested on."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from quarterturn.findings import detection_report
from rotation.calendar import Month
from rotation.detection.report.report import report
from rotation.findings.store import Finding, FindingReview

sys.path.insert(0, str(Path(__file__).parents[2] / "rotation" / "detection"))

Figures = dict[str, Any]
NOW = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
FIRST = Month(2026, 12)


@pytest.fixture(scope="session")
def drawn() -> Callable[..., Figures]:
    """Give the document from which a simulated world's last month is drawn."""
    from worlds import World, Wrong, play, stored

    def make(
        submitters: int = 8,
        rotations: int = 3,
        names: tuple[str, ...] = (),
        counted: tuple[Finding, ...] = (),
        reviews: Mapping[str, tuple[FindingReview, ...]] = MappingProxyType({}),
    ) -> Figures:
        world = World(submitters, rotations, cohort=20, families=16, absence=0, again=0.2)
        table = play(world, 3, Wrong(start=rotations, known=0.6, shortcut=0.6, copied=0.6))
        table = replace(table, submitters=(names + table.submitters)[: len(table.submitters)])
        months = [str(FIRST.plus(number)) for number in range(rotations)]
        tests = [
            replace(found, reviews=reviews.get(found.subject, ()))
            for found in (stored(table, rotations) if rotations > 1 else ())
        ]
        document = report(table, rotations, tests)
        return detection_report.composed(document, [*tests, *counted], months, "bench.example/one", NOW)

    return make
