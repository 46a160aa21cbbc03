"""`watch scan`: flags of the detectors for case files; all is read and tested before the first byte is written.

    1. read   every case, so that a broken one ends the scan before any test
    2. test   each rotation of each case; much work is shared out among processes, and put together in order
    3. write  one line per test, at once and whole

However the work is shared out, the same input gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from quarterturn.errors import Malformed
from vault.files import write_atomically

if TYPE_CHECKING:
    from rotation.detection.detectors.scan import CorrectedResult
    from rotation.detection.statistics.table import ResultTable

FLAGGED = 0.01
MUCH = 200_000  # results; below, starting processes takes longer than it saves


@dataclass(frozen=True, slots=True)
class ScannedCases:
    """How many cases and tests there were, and which tests are flagged.

    Attributes:
        cases: number of cases.
        tests: number of tests.
        flagged: the tests that are flagged, each with its case.
        combined: case, rotation and submitter of a flagged `echo` -> its p-value combined with that of their `leak`.
    """

    cases: int
    tests: int
    flagged: Sequence[tuple[str, CorrectedResult]]
    combined: Mapping[tuple[str, int, str], float]


def scan(paths: Sequence[Path], out: Path | None) -> ScannedCases:
    """Test every case; write one line per test, if a file is named, in the order of case, rotation, kind, subject."""
    from rotation.detection.statistics import case_files  # noqa: PLC0415 - numpy is slow to load, and seldom needed

    if out and out.is_dir():
        raise Malformed(f"{out}: this is a folder; name a file with --out.")
    cases = case_files.cases(paths, out)
    results = list(_tests({case: case_files.read(path) for case, path in cases.items()}))
    written = [json.dumps(judged.line(case), ensure_ascii=False) + "\n" for case, judged in results]
    if out:
        write_atomically(out, "".join(written).encode(), out.with_name(f".{out.name}.part"))
    flagged = [result for result in results if result[1].holm <= FLAGGED]
    return ScannedCases(len(cases), len(results), flagged, dict(_combined(results, flagged)))


def _combined(
    results: Sequence[tuple[str, CorrectedResult]], flagged: Sequence[tuple[str, CorrectedResult]]
) -> Iterator[tuple[tuple[str, int, str], float]]:
    """Combine the p-value of each flagged `echo` with that of the same submitter's `leak`."""
    from rotation.detection.statistics.correction import fisher  # noqa: PLC0415 - likewise

    leaks = {(case, of.rotation, of.tested.subject): of.p_value for case, of in results if of.tested.kind == "leak"}
    for case, of in flagged:
        place = (case, of.rotation, of.tested.subject)
        if of.tested.kind == "echo" and place in leaks:
            yield place, fisher(of.p_value, leaks[place])


def _tests(tables: Mapping[str, ResultTable]) -> Iterator[tuple[str, CorrectedResult]]:
    from rotation.detection.detectors.scan import judged, rotations  # noqa: PLC0415 - likewise

    work = [(case, table, rotation) for case, table in tables.items() for rotation in rotations(table)]
    results = sum(int(table.taken.sum()) for table in tables.values())
    cores = min(len(os.sched_getaffinity(0)), len(work)) if results >= MUCH else 1
    with ExitStack() as stack:
        spread = stack.enter_context(_pool(cores)).map if cores > 1 else map
        groups = spread(judged, [table for _, table, _ in work], [rotation for _, _, rotation in work])
        for (case, _, _), group in zip(work, groups, strict=True):
            yield from ((case, result) for result in group)


def _pool(cores: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(cores, mp_context=get_context("spawn"))
