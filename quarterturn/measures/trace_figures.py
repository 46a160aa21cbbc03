"""Figures of the trace page of one run: plain JSON values, from which the page is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from quarterturn.measures.run_measures import MeasuredRun
from sandbox.measures.failure_class import TITLES
from sandbox.measures.table import MEASURES


def trace_figures(run: MeasuredRun, title: str, median: Mapping[str, float | None] | None) -> dict[str, Any]:
    """Give all that the page of a run shows.

    Args:
        run: the run; its tasks are public.
        title: what the page is called.
        median: the field's median share of each failure class, or None.
    """
    figures, profile = run.figures, run.profile
    return {
        "title": title,
        "run": run.run.number,
        "submitter": run.run.submitter,
        "measures": [
            {"title": measure.title, "definition": measure.definition, "counts": measure.counts}
            | asdict(figures[measure.name])
            for measure in MEASURES
        ],
        "profile": [
            {"title": words, "median": median[name] if median else None} | asdict(profile[name])
            for name, words in TITLES.items()
            if run.diagnosed
        ],
        "diagnosed": run.diagnosed,
        "root_causes": run.root_causes,
        "tasks": [
            {
                "task": run.by_id[result.task].task.document,
                "run": result.played.as_json() if result.played else None,
                "answers": [solution.get("answer") for solution in run.by_id[result.task].solutions],
                "measures": measures.as_json(),
            }
            for result, measures in zip(run.run.results, run.tasks, strict=True)
        ],
    }
