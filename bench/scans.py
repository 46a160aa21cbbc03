"""Measures what the scan after a run costs in the 24th month of a home, beside the 6th and the 3rd.

A home of 24 months is made: each month 50 of 200 live tasks are replaced, and 20 submitters run all of them. The tasks
are small, and the turns are real. The runs are rows, exposures and sealed closings as runs leave them, with results of
the simulated benchmark that the detectors are tested on; to play 96,000 tasks would take days. Each run says twenty
values that it was not shown. The homes of fewer months are copies of the same one, made after as many turns. A unit is
one scan: what it opens, and all of its tests.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np
import scale
from measure import interleave, timed
from report import Failed, Found, Line, Table
from watch import World, play

from grammars.language.grammar import Draft
from quarterturn.app import Application
from quarterturn.home.home import create
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.detection.statistics.table import ResultTable
from rotation.exposure.tables import ExposureRow
from rotation.month.set_file import COHORTS
from rotation.month.sets import SetSpec
from rotation.month.store import Cohort
from rotation.runs.run_ledger import RunResult
from sandbox.results.said import SaidChoices
from sandbox.results.score import Result
from sandbox.runs.store import RunRecord, RunState
from sandbox.runs.tables import RunRow
from vault.database import transaction
from verifiers.language.verdict import Verdict

ROUNDS = 7
COHORT = 50
TEMPLATES = 80
MONTHS = (3, 6, 24)
FIRST = scale.MONTH
KINDS = {"leak", "copy", "family", "task", "echo"}
FREE = {name: [f"{name}{number}x" for number in range(128)] for name in ("folder", "noun", "code")}
STRAY = 20
"""Choices that each run says and was not shown."""


def bench(rounds: int = 0) -> Found:
    """Scan homes of 24, 6 and 3 months in turns."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder, ExitStack() as stack:
        homes = _homes(Path(folder))
        opened = {months: stack.enter_context(closing(_opened(home))) for months, home in homes.items()}
        rows = [_first_scan(months, house) for months, house in opened.items()]
        late, full, early = (
            timed(lambda house=house: house.detection.scanner.run("bench")) for house in reversed(opened.values())
        )
        lines = [
            Line("a scan in month 24", "in month 6", interleave(late, full, rounds or ROUNDS), "scans"),
            Line("a scan in month 24", "in month 3", interleave(late, early, rounds or ROUNDS), "scans"),
        ]
    about = "What the scan of each home reads and makes."
    columns = ("month", "runs of the home", "opened by a scan", "tasks whose values are looked up", "tests")
    return Found("20 submitters, 200 live tasks.", lines, tables=[Table(about, columns, rows)])


def _homes(folder: Path) -> dict[int, Path]:
    whole = folder / "without-runs"
    create(whole, Settings(benchmark=BenchmarkSettings(first_month=str(FIRST))), None)
    with closing(_opened(whole)) as house:
        cohorts = MONTHS[-1] + COHORTS - 1
        scale.keep(house, [_draft(number) for number in range(COHORT * cohorts)])
    table = play(World(rotations=MONTHS[-1], cohort=COHORT, absence=0, again=0), 1)
    homes = {months: folder / str(months) for months in MONTHS}
    for before, (months, home) in zip((0, *MONTHS), homes.items(), strict=False):
        with closing(_opened(whole)) as house:
            for month in range(before, months):
                house.month.rotation.run(FIRST.plus(month - 1))
        shutil.copytree(whole, home)
        with closing(_opened(home)) as house:
            _run(house, table.until(months))
    return homes


def _draft(number: int) -> Draft:
    """Make a small draft that each submitter is served in values of their own."""
    draft = scale.draft(number, f"bench-{number % TEMPLATES}")
    goal = f"{draft.task['goal']} Call it {{{{folder}}}} {{{{noun}}}} {{{{code}}}}."
    free = {name: {"from": choices} for name, choices in FREE.items()}
    return replace(draft, task={**draft.task, "goal": goal, "free": free})


def _stray(dice: Random) -> SaidChoices:
    return SaidChoices(dice.choice([*FREE]), 128, (dice.randrange(128),))


def _opened(home: Path) -> Application:
    house = Application(home, None)
    house.benchmark.spec = SetSpec("bench", {scale.STRATUM: COHORT})
    return house


def _first_scan(months: int, house: Application) -> dict[str, int]:
    """Scan a home once, so that only its newest month is left to be tested, and then say what a scan reads."""
    house.detection.scanner.run("bench")
    house.detection.scanner.run("bench")
    found = [finding for finding in house.benchmark.findings.all(FIRST.plus(months - 1)) if finding.p_value is not None]
    if not {finding.kind for finding in found} >= KINDS:
        raise Failed(f"the scan of month {months} did not make all of its tests")
    opened, looked_up = (int(entry.what.partition("(")[2].rstrip(")")) for entry in house.home.vault.access_log()[-2:])
    return {
        "month": months,
        "runs of the home": len(house.runs.store.list()),
        "opened by a scan": opened,
        "tasks whose values are looked up": looked_up,
        "tests": len(found),
    }


# -- runs as they are left --------------------------------------------------------------------------------------------


def _run(house: Application, table: ResultTable) -> None:
    """Write the runs of a simulated benchmark; its cohorts are those of the home, in the order of their retirement."""
    tasks = dict(_tasks(sorted(house.benchmark.months.cohorts(), key=lambda cohort: cohort.retires), table))
    tags = {record.id: record.skeleton_tag for record in house.home.vault.records()}
    runs = [int(run) for run in np.argsort(table.rotation, kind="stable")]
    with transaction(house.home.engine) as session:
        session.add_all(_row(number, run, table) for number, run in enumerate(runs, 1))
    for record, run in zip(house.runs.store.list(), runs, strict=True):
        taken = [int(task) for task in np.flatnonzero(table.taken[run])]
        dice = Random(record.number)
        strays = set(dice.sample(taken, STRAY))
        results = [
            replace(_result(record, *tasks[task], table, (run, task)), said=[_stray(dice)] if task in strays else [])
            for task in taken
        ]
        made = house.runs.ledger.score(record, sorted({item.result.cohort for item in results}), results)
        with transaction(house.home.engine) as session:
            session.add_all(_exposure(record, item.result.task, tags) for item in results)
            for name, value in made.sealed.items():
                house.home.vault.seal_blob(name, json.dumps(value).encode(), session=session)


def _tasks(cohorts: list[Cohort], table: ResultTable) -> Iterator[tuple[int, tuple[str, str]]]:
    for first in np.unique(table.first):
        cohort = cohorts[int(first) + COHORTS - 2]
        for place, task in enumerate(np.flatnonzero(table.first == first)):
            yield int(task), (cohort.id, cohort.tasks[place])


def _row(number: int, run: int, table: ResultTable) -> RunRow:
    month, submitter = FIRST.plus(int(table.rotation[run]) - 1), table.submitters[table.submitter[run]]
    at = datetime(month.year, month.number, 2, tzinfo=UTC)
    return RunRow(
        number=number,
        month=str(month),
        track="docker",
        box="docker",
        official=True,
        submitter=submitter,
        name=submitter,
        kind="image",
        submission="sha256:" + "0" * 64,
        tasks=int(table.taken[run].sum()),
        state=RunState.DONE.value,
        attempt=1,
        opened_at=at,
        started_at=at,
        ended_at=at,
    )


def _result(record: RunRecord, cohort: str, task: str, table: ResultTable, cell: tuple[int, int]) -> RunResult:
    calls, cap = int(table.calls[cell]), int(table.cap[cell[1]])
    passed = bool(table.passed[cell]) and calls <= cap
    result = Result(
        run=record.number,
        task=task,
        cohort=cohort,
        server=scale.STRATUM.server,
        category=scale.STRATUM.category,
        verdict=Verdict.TRUE if passed else Verdict.FALSE,
        passed=passed,
        calls=calls,
        max_steps=cap,
        unlisted=0,
        errors_seen=0,
        skeleton="0" * 64,
    )
    return RunResult(
        result, [f"filesystem.{scale.TOOLS[place % len(scale.TOOLS)]}" for place in range(calls)], os.urandom(32)
    )


def _exposure(record: RunRecord, task: str, tags: Mapping[str, str]) -> ExposureRow:
    return ExposureRow(
        task_id=task,
        skeleton_tag=tags[task],
        run=record.number,
        month=record.month,
        submitter=record.submitter,
        channel=record.box,
        times=1,
        first_at=record.opened_at,
        last_at=record.opened_at,
    )
