"""Monthly turn for the command line and the clock: plan, run and status.

A process that turns holds `head/turn.lock`, which the kernel frees when its holder dies. The lock spares two processes
on one home each other's errors; the rows ensure that no turn is made twice
(`rotation.month.store.MonthStore.step_done`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from quarterturn import wall_clock
from quarterturn.app import Application
from quarterturn.approvals import approvals
from quarterturn.errors import Unavailable
from quarterturn.findings import detection
from quarterturn.progress import Progress
from quarterturn.report import Report
from rotation.calendar import Month
from rotation.errors import Refused
from rotation.month.store import Turn
from rotation.turn import spot_check
from rotation.turn.turn import STEPS
from sandbox.runs.store import RunState
from vault.errors import Unavailable as Held
from vault.file_lock import locked
from vault.task.lifecycle import TaskState

REVIEWS = {
    "unknown": "review: {} has runs with a verdict left unknown: {}",
    "unclear": "review: {} has runs with failures of unclear cause (the agent's or ours): {}",
}
"""Causes of a review, as text. A review looks at the sealed results; it disqualifies nobody by itself."""


@dataclass(frozen=True, slots=True)
class NextTurn:
    """The next turn.

    Attributes:
        month: the month that it ends.
        due: from when on.
        begun: whether its first step is done; it lacks nothing then.
        lacks: what must be there before it can be made, in sentences.
        notes: what it will do that somebody may want to know before.
    """

    month: Month
    due: datetime
    begun: bool
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@contextmanager
def alone(house: Application) -> Iterator[None]:
    """Hold the home's turn lock, so that no other process turns it.

    Raises:
        Unavailable: somebody else is at it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(house.places.head.with_name("turn.lock"), 0, "turning this home"))
        except Held:
            raise Unavailable("another process is turning this home; try again when it is done") from None
        yield


def coming(house: Application) -> NextTurn:
    """Describe the next turn, and what it lacks."""
    month, due = wall_clock.next_turn(house.months, house.settings)
    if any(turn.month == month for turn in house.months.turns()):
        return NextTurn(month, due, begun=True, notes=tuple(_unapproved(house, month)))
    states = (RunState.QUEUED, RunState.RUNNING)
    running = sum(len(house.runs.list(month=str(month), state=state)) for state in states)
    notes = (f"{running} runs are open; tasks not finished by the turn count as failed.",) if running else ()
    lacks = tuple(_lacking(house, month))
    return NextTurn(month, due, begun=False, lacks=lacks, notes=(*notes, *_unapproved(house, month)))


def _unapproved(house: Application, month: Month) -> Iterator[str]:
    """Say who has to sign for the turn yet; once its choice is written down, nobody has to."""
    if any(turn.month == month and "commit" in turn.done for turn in house.months.turns()):
        return
    with suppress(Refused):  # what it lacks is said elsewhere
        if sentence := house.approvals.waiting("activate", *approvals.turn(house.rotation.plan(month))):
            yield f"{sentence[:1].upper()}{sentence[1:]}."


def _lacking(house: Application, month: Month) -> Iterator[str]:
    try:
        house.rotation.plan(month)
    except Refused as refused:  # its words are strata and counts
        words = str(refused)
        yield f"{words[:1].upper()}{words[1:]}."
        if waiting := len(house.vault.records(TaskState.ADMITTED)):
            yield f"{waiting} admitted tasks wait for a reviewer: `quarterturn task review`."


def plan(house: Application) -> Report:
    """Say what the next turn would do, or what is left of the one that was begun; changes nothing."""
    month, _ = wall_clock.next_turn(house.months, house.settings)
    begun = next((turn for turn in house.months.turns() if turn.month == month), None)
    if begun:
        left = [step for step in STEPS if step not in begun.done]
        data = {"month": str(month), "done": list(begun.done), "left": left}
        line = f"The turn of {month} is under way: {', '.join(left)} are left. `turn run` finishes it."
        return Report(data, [line, *_unapproved(house, month)])
    planned = house.rotation.plan(month)
    entering = {str(retires): len(tasks) for retires, tasks in planned.enter.items()}
    leaving = f"{planned.retire.id} retires ({len(planned.retire.tasks)} tasks)" if planned.retire else "the first"
    return Report(
        {"month": str(month), "retire": planned.retire.id if planned.retire else None, "enter": entering},
        [
            f"The turn of {month}: {leaving}",
            *(f"{count} tasks enter and retire at the turn of {retires}" for retires, count in entering.items()),
            *_unapproved(house, month),
        ],
    )


def run(house: Application, month: str | None, out: Progress) -> Report:
    """Run the next turn (or the one that is named), or finish the one that was begun.

    Raises:
        Unavailable: another process is at it.
        Unapproved: two maintainers have to sign for it first.
        NotAllowed, Refused: see `rotation.turn.turn.Rotation.run`.
    """
    with alone(house):
        chosen = Month.parse(month) if month else wall_clock.next_turn(house.months, house.settings)[0]
        with out.progress(f"turn of {chosen}", len(STEPS)) as advance:
            turn = make(house, chosen, lambda _: advance(1))
    return _made(house, turn)


def make(house: Application, month: Month, on_step: Callable[[str], None]) -> Turn:
    """Make a turn and what comes after it; the caller holds the home `alone`."""
    turn = house.rotation.run(month, on_step)
    detection.after(house, f"turn of {month}")
    house.public_view.update()
    return turn


def _made(house: Application, turn: Turn) -> Report:
    chosen = turn.month
    live = sum(len(cohort.tasks) for cohort in house.months.cohorts("live"))
    data = {"month": str(chosen), "steps": list(turn.done), "live": live}
    lines = [f"The turn of {chosen} is done; {live} tasks are live."]
    release = house.places.releases / chosen.release
    if release.exists():
        data["release"] = str(release)
        lines.append(f"Published: {release}")
    return Report(data, [*lines, *spot_check.summary_lines(turn), *detection.waiting(house)])


def status(house: Application) -> Report:
    """Report the turns that were made, the cohorts, and the submitters whose runs need a review."""
    made = house.months.turns()
    turns = [
        {"month": str(t.month), "finished": t.finished, "steps": list(t.done), "spot_check": spot_check.opened(t)}
        for t in made
    ]
    cohorts = [
        {"id": c.id, "state": c.state, "entered": str(c.entered), "retires": str(c.retires), "tasks": len(c.tasks)}
        for c in house.months.cohorts()
    ]
    lines = [f"turn {turn['month']}: {'done' if turn['finished'] else 'unfinished: run it again'}" for turn in turns]
    lines += [f"{c['id']}  {c['state']:<10} {c['tasks']} tasks, retires at the turn of {c['retires']}" for c in cohorts]
    lines += [line for turn in made for line in spot_check.summary_lines(turn)]
    lines = lines or ["no turn was made yet: `quarterturn turn run`"]
    open_reviews = house.months.unsettled()
    lines += [REVIEWS[r.kind].format(r.submitter, ", ".join(map(str, r.runs))) for r in open_reviews]
    lines += detection.waiting(house)
    reviews = [{"submitter": r.submitter, "kind": r.kind, "runs": list(r.runs)} for r in open_reviews]
    return Report({"turns": turns, "cohorts": cohorts, "reviews": reviews}, lines)
