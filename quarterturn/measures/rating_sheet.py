"""Sheets for second ratings of failures: a CSV line for each failure of a run, and its trace without the classes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from quarterturn.measures.ratings import RATINGS, SKELETON
from quarterturn.measures.run_measures import MeasuredRun
from quarterturn.measures.trace_figures import trace_figures
from quarterturn.pages import trace
from sandbox.measures.failure_class import TITLES

CLASSES = tuple(TITLES)
"""What a failure can be rated as."""


def sheet(runs: Sequence[MeasuredRun], rater: str, *, filled: bool) -> str:
    """Give the sheet of a rater: blank, or filled with the classes that the rules gave."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*RATINGS, SKELETON])
    for run in runs:
        for task in run.tasks:
            if task.failure is not None:
                subject = f"{run.run.number}/{task.result.task}"
                writer.writerow([subject, rater, task.failure.primary if filled else "", task.result.skeleton])
    return text.getvalue()


def blind_page(run: MeasuredRun) -> str:
    """Draw a run's trace without failure classes, so that who rates from it has not seen them."""
    measured = run.as_json()
    measured["tasks"] = [task | {"failure": None} for task in measured["tasks"]]
    figures = trace_figures("A run, to be rated", measured, run.played)
    return trace.page(figures | {"profile": [], "diagnosed": run.diagnosed})
