"""Makes the whole benchmark in a home of its own: draws, proves, reviews and turns all tasks, in the bwrap box.

This is what a maintainer does with `init --set mcpbench`, `task admit`, `task review` and `turn run`, and then the
public dev set through the same gates. It takes its time, so it is measured only where it is asked for; with
`--rounds=N` it makes N cohorts of fifty, and no dev set.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from report import Failed, Found, Table

from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import admit
from grammars.draw.sample import draw, skeletons
from grammars.language.grammar import Grammar
from quarterturn import wall_clock
from quarterturn.app import Application
from quarterturn.cli.daily.task_text import yield_lines
from quarterturn.home.home import create
from quarterturn.settings import BenchmarkSettings, RunSettings, Settings
from rotation.calendar import Month
from rotation.generation import dev_sets
from rotation.generation.make_up import make_up
from rotation.generation.yield_stats import TemplateYield, YieldStats
from rotation.month.set_file import COHORTS
from rotation.month.sets import MCPBENCH
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.prover import BoxProver
from vault.task.lifecycle import TaskState

WORKERS = 2
COLUMNS = ("server", "drawn", "admitted", "mutated states", "of them false", "smallest template", "bits")
AUTHOR, REVIEWER = "ada", "grace"


def bench(rounds: int = 0) -> Found:
    """Make the set, or `rounds` cohorts of it."""
    cohorts = min(rounds or COHORTS, COHORTS)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        month = Month.of(wall_clock.now())
        chosen = Settings(
            benchmark=BenchmarkSettings(first_month=str(month), set=MCPBENCH.name),
            run=RunSettings(box="bwrap", workers=WORKERS),
        )
        create(Path(folder, "home"), chosen, None)
        house = Application(Path(folder, "home"), None)
        try:
            tally, live = _made(house, cohorts, month)
            kinds = [f"Private set: {make_up(_drawn(house), house.grammars)}."]
            private = time.monotonic() - start
            if cohorts == COHORTS:
                dev = _dev(house.grammars, tally)
                kinds.append(f"Dev set: {make_up(dev, house.grammars)}.")
            table = Table(_about(tally, live, private, time.monotonic() - start), COLUMNS, _rows(house.grammars, tally))
        finally:
            house.close()
    return Found(
        f"{cohorts} cohorts of {MCPBENCH.cohort_size} tasks in the bwrap box.",
        [],
        (),
        [*kinds, *yield_lines(tally)],
        [table],
    )


def _made(house: Application, cohorts: int, month: Month) -> tuple[YieldStats, int]:
    """Draw, prove and review tasks and, for the whole set, turn; give the yield and the number of live tasks."""
    wanted = {stratum: cohorts * count for stratum, count in house.benchmark.spec.per_cohort.items()}
    if cohorts == COHORTS:
        wanted = house.tasks.replenishment.wanted()  # the reserve too
    tally = house.tasks.replenishment.fill(wanted, box=BwrapBox(), author=AUTHOR)
    for task_id in tally.admitted:
        house.tasks.reviews.decide(task_id, REVIEWER, None)
    if cohorts == COHORTS:
        house.month.rotation.run(month.plus(-1))
    live = len(house.home.vault.records(TaskState.LIVE))
    if len(tally.admitted) != sum(wanted.values()) or live not in {0, MCPBENCH.size}:
        raise Failed(f"{len(tally.admitted)} tasks were admitted and {live} are live")
    return tally, live


def _drawn(house: Application) -> list[str]:
    """Return the skeletons of all tasks that were admitted."""
    names = {house.home.vault.tag("skeleton", one.id): one.id for g in house.grammars.values() for one in skeletons(g)}
    states = (TaskState.REVIEWED, TaskState.LIVE)
    return [names[record.skeleton_tag] for state in states for record in house.home.vault.records(state)]


def _dev(grammars: Mapping[str, Grammar], tally: YieldStats) -> list[str]:
    """Admit the dev set too, and give its skeletons."""
    prover, drafts = BoxProver(BwrapBox()), dev_sets.draw(grammars, MCPBENCH)
    with ThreadPoolExecutor(WORKERS) as pool:
        for draft, admission in zip(drafts, pool.map(lambda d: admit(d, prover, TaskIndex()), drafts), strict=True):
            tally.count(draft, admission)
    return [draft.skeleton for draft in drafts]


def _about(tally: YieldStats, live: int, private: float, whole: float) -> str:
    shut = ", ".join(f"{gate} {count / tally.drawn:.1%}" for gate, count in sorted(tally.shut.items())) or "none"
    each = whole / max(len(tally.admitted), 1)
    return (
        f"{len(tally.admitted)} tasks admitted out of {tally.drawn} drafts, {live} of them live; {private / 60:.1f} "
        f"minutes for the private ones and {whole / 60:.1f} for all, {WORKERS} at a time ({each:.1f} s each). Shares "
        f"of drafts that a gate kept out: {shut}. Mutation score {tally.mutation_score or 0:.4f}."
    )


def _rows(grammars: Mapping[str, Grammar], tally: YieldStats) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, _row(server, grammars[server], tally), strict=True)) for server in MCPBENCH.servers]


def _row(server: str, grammar: Grammar, tally: YieldStats) -> Iterator[Any]:
    mine = [one for name, one in tally.templates.items() if name.partition("/")[0] == server]
    whole = TemplateYield(
        *(sum(getattr(one, name) for one in mine) for name in ("drawn", "stayed_out", "mutants", "survived"))
    )
    bits, smallest = min(_bits(grammar))
    yield from (server, whole.drawn, whole.drawn - whole.stayed_out, whole.mutants)
    yield f"{whole.mutation_score:.2%}" if whole.mutation_score is not None else "-"
    yield from (smallest, round(bits))


def _bits(grammar: Grammar) -> Iterator[tuple[float, str]]:
    """Yield log2 of the instances of each skeleton, with its template."""
    for skeleton in skeletons(grammar):
        drawn = draw(grammar, skeleton, skeleton.difficulties[0], Random(skeleton.id))
        yield drawn.bits, skeleton.template
