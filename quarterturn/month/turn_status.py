"""Status of the rotation: the turns that were made, the cohorts, and the submitters whose runs need a review."""

from __future__ import annotations

from typing import Any

from rotation.month.store import MonthStore
from rotation.turn.turn_facts import spot_check


def status(months: MonthStore) -> dict[str, Any]:
    """Return the status as plain JSON values; a review looks at sealed results, and disqualifies nobody by itself."""
    turns = [
        {"month": str(t.month), "finished": t.finished, "steps": list(t.done), "spot_check": spot_check(t)}
        for t in months.turns()
    ]
    cohorts = [
        {"id": c.id, "state": c.state, "entered": str(c.entered), "retires": str(c.retires), "tasks": len(c.tasks)}
        for c in months.cohorts()
    ]
    reviews = [{"submitter": r.submitter, "kind": r.kind, "runs": list(r.runs)} for r in months.unsettled()]
    return {"turns": turns, "cohorts": cohorts, "reviews": reviews}
