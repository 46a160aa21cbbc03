"""Status of the rotation: the turns that were made, the cohorts, and the submitters whose runs need a review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rotation.month.store import Cohort, MonthStore, Turn, Unsettled
from rotation.turn import spot_check


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """The rotation as the rows have it; a review looks at the sealed results, and disqualifies nobody by itself."""

    turns: Sequence[Turn]
    cohorts: Sequence[Cohort]
    reviews: Sequence[Unsettled]

    def as_json(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        return {
            "turns": [
                {
                    "month": str(turn.month),
                    "finished": turn.finished,
                    "steps": list(turn.done),
                    "spot_check": spot_check.opened(turn),
                }
                for turn in self.turns
            ],
            "cohorts": [
                {
                    "id": cohort.id,
                    "state": cohort.state,
                    "entered": str(cohort.entered),
                    "retires": str(cohort.retires),
                    "tasks": len(cohort.tasks),
                }
                for cohort in self.cohorts
            ],
            "reviews": [
                {"submitter": review.submitter, "kind": review.kind, "runs": list(review.runs)}
                for review in self.reviews
            ],
        }


def status(months: MonthStore) -> TurnStatus:
    """Read the status from the rows."""
    return TurnStatus(months.turns(), months.cohorts(), months.unsettled())
