"""Sheets for second ratings: a CSV line for each failure of a run or each reviewed task; a trace without classes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from grammars.admission.review import TaskReview
from quarterturn.pages import trace
from quarterturn_measures.claim_scores import SKELETON
from quarterturn_measures.measures.failure_class import TITLES
from quarterturn_measures.ratings.ratings import RATINGS
from quarterturn_measures.run_measures import MeasuredRun
from quarterturn_measures.trace_figures import trace_figures

CLASSES = tuple(TITLES)
"""What a failure can be rated as."""


def sheet(runs: Sequence[MeasuredRun], rater: str, *, filled: bool) -> str:
    """Return the sheet of a rater: blank, or filled with the classes that the rules gave."""
    failed = [(run.run.number, task, task.failure) for run in runs for task in run.tasks if task.failure is not None]
    rows = (
        (f"{number}/{task.result.task}", rater, failure.primary if filled else "", task.result.skeleton)
        for number, task, failure in failed
    )
    return _written((*RATINGS, SKELETON), rows)


def review_sheet(reviews: Sequence[TaskReview], rater: str | None) -> str:
    """Return the decisions of reviews, or a blank sheet of their tasks for a rater."""
    if rater is not None:
        return _written(RATINGS, ((task, rater, "") for task in dict.fromkeys(review.task_id for review in reviews)))
    return _written(RATINGS, ((review.task_id, review.reviewer, review.decision) for review in reviews))


def _written(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *rows])
    return text.getvalue()


def blind_page(run: MeasuredRun) -> str:
    """Draw a run's trace without failure classes, so that who rates from it has not seen them."""
    measured = run.as_json()
    measured["tasks"] = [task | {"failure": None} for task in measured["tasks"]]
    figures = trace_figures("A run, to be rated", measured, run.played)
    return trace.page(figures | {"profile": [], "diagnosed": run.diagnosed})
