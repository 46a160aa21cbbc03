"""Measures of runs on the dev set for a service: computed in a process of their own, shown beside the field's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterturn_measures import process
from quarterturn_measures.failure_field import FailureField
from quarterturn_measures.trace_figures import trace_figures

if TYPE_CHECKING:
    from grammars.language.grammar import Draft
    from quarterturn.runs.dev_runs import DevRun
    from quarterturn.submissions.store.traces import TraceStore


class ServiceMeasures:
    """What `quarterturn.runs.measures.RunMeasures` promises.

    Args:
        store: where traces are kept.
        parties: returns the party of each account.
    """

    def __init__(self, store: TraceStore, parties: Callable[[], Mapping[str, str]]) -> None:
        self._field = FailureField(store, parties)

    def measured(self, run: DevRun, drafts: Sequence[Draft]) -> dict[str, Any] | None:
        """Return the measures of a run as plain JSON values; None, and a line in the log, where that fails."""
        return process.measured(run, drafts)

    def figures(self, title: str, trace: Mapping[str, Any], account: str) -> dict[str, Any] | None:
        """Return the figures of a run's pages, with the field as this account sees it; None without measures."""
        if not trace.get("measures"):
            return None
        played, field = [(task["task"], task["run"]) for task in trace["tasks"]], self._field.beside(account)
        shown = trace_figures(title, trace["measures"], played, field.shares if field else None)
        return shown | {"field_runs": field and field.runs}
