"""Figures of the trace page of one run: plain JSON values, from which the page is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn_measures.measures.failure_class import TITLES
from quarterturn_measures.measures.table import shown

Item = Mapping[str, Any]


def trace_figures(
    title: str, measured: Item, played: Sequence[tuple[Item, Item]], median: Mapping[str, float | None] | None = None
) -> dict[str, Any]:
    """Return all that the page of a run shows.

    Args:
        title: what the page is called.
        measured: the run's measures, as `MeasuredRun.as_json` gives them; its tasks are public.
        played: each task's document and its run, as `TaskRun.as_json` gives it, in the same order.
        median: the field's median share of each failure class, or None.
    """
    classes = measured["failures"]["classes"]
    return {
        "title": title,
        "measures": [
            {"title": measure.title, "definition": measure.definition, "counts": measure.counts}
            | measured["measures"][measure.name]
            for measure in shown({name: figure["n"] for name, figure in measured["measures"].items()})
        ],
        "profile": [
            {"title": words, "median": median[name] if median else None} | classes[name]
            for name, words in TITLES.items()
            if measured["failures"]["diagnosed"]
        ],
        "diagnosed": measured["failures"]["diagnosed"],
        "root_causes": measured["root_causes"],
        "tasks": [
            {"task": task, "run": run, "measures": measures}
            for (task, run), measures in zip(played, measured["tasks"], strict=True)
        ],
    }
