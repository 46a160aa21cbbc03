"""The turn in words: what it would do, doing it, and how far it is."""

from __future__ import annotations

from quarterturn import publicview, watching
from quarterturn.report import Report
from quarterturn.running import Progress
from quarterturn.wiring import House
from rotation.calendar import Month
from rotation.turn import STEPS

REVIEWS = {
    "unknown": "review: {} has runs with a verdict left unknown: {}",
    "unclear": "review: {} has runs with failures of which nobody can say whose they are: {}",
}
"""What opens a review, in words. A review looks at the sealed results; it disqualifies nobody by itself."""


def plan(house: House) -> Report:
    """Say what the next turn would do, or what is left of the one that was begun; changes nothing."""
    month = _next(house)
    begun = next((turn for turn in house.months.turns() if turn.month == month), None)
    if begun:
        left = [step for step in STEPS if step not in begun.done]
        data = {"month": str(month), "done": list(begun.done), "left": left}
        return Report(data, [f"The turn of {month} is under way: {', '.join(left)} are left. `turn run` finishes it."])
    planned = house.rotation.plan(month)
    entering = {str(retires): len(tasks) for retires, tasks in planned.enter.items()}
    leaving = f"{planned.retire.id} retires ({len(planned.retire.tasks)} tasks)" if planned.retire else "the first"
    return Report(
        {"month": str(month), "retire": planned.retire.id if planned.retire else None, "enter": entering},
        [
            f"The turn of {month}: {leaving}",
            *(f"{count} tasks enter and retire at the turn of {retires}" for retires, count in entering.items()),
        ],
    )


def run(house: House, month: str | None, out: Progress) -> Report:
    """Run the next turn (or the one that is named), or finish the one that was begun."""
    chosen = Month.parse(month) if month else _next(house)
    with out.progress(f"turn of {chosen}", len(STEPS)) as advance:
        turn = house.rotation.run(chosen, lambda _: advance(1))
    watching.after(house, f"turn of {chosen}")
    publicview.after(house)
    live = sum(len(cohort.tasks) for cohort in house.months.cohorts("live"))
    data = {"month": str(chosen), "steps": list(turn.done), "live": live}
    lines = [f"The turn of {chosen} is done; {live} tasks are live."]
    release = house.places.releases / chosen.release
    if release.exists():
        data["release"] = str(release)
        lines.append(f"Published: {release}")
    return Report(data, [*lines, *watching.waiting(house)])


def status(house: House) -> Report:
    """Say which turns were made, which cohorts there are, and which submitters' runs want looking into."""
    turns = [{"month": str(t.month), "finished": t.finished, "steps": list(t.done)} for t in house.months.turns()]
    cohorts = [
        {"id": c.id, "state": c.state, "entered": str(c.entered), "retires": str(c.retires), "tasks": len(c.tasks)}
        for c in house.months.cohorts()
    ]
    lines = [f"turn {turn['month']}: {'done' if turn['finished'] else 'unfinished: run it again'}" for turn in turns]
    lines += [f"{c['id']}  {c['state']:<10} {c['tasks']} tasks, retires at the turn of {c['retires']}" for c in cohorts]
    lines = lines or ["no turn was made yet: `quarterturn turn run`"]
    open_reviews = house.months.unsettled()
    lines += [REVIEWS[r.kind].format(r.submitter, ", ".join(map(str, r.runs))) for r in open_reviews]
    lines += watching.waiting(house)
    reviews = [{"submitter": r.submitter, "kind": r.kind, "runs": list(r.runs)} for r in open_reviews]
    return Report({"turns": turns, "cohorts": cohorts, "reviews": reviews}, lines)


def _next(house: House) -> Month:
    return house.rotation.next_month(Month.parse(house.settings.benchmark.first_month))
