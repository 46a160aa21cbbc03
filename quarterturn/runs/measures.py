"""Measures of runs on the dev set, as a service keeps and shows them; the extra `measures` computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from quarterturn import extras

if TYPE_CHECKING:
    from grammars.language.grammar import Draft
    from quarterturn.runs.dev_runs import DevRun
    from quarterturn.submissions.store.traces import TraceStore


class RunMeasures(Protocol):
    """What computes measures and prepares them for pages."""

    def measured(self, run: DevRun, drafts: Sequence[Draft]) -> dict[str, Any] | None:
        """Return the measures of a run on these tasks as plain JSON values, or None where that fails."""

    def figures(self, title: str, trace: Mapping[str, Any], account: str) -> dict[str, Any] | None:
        """Return what pages show of a kept run's measures to an account, or None where it has none."""


class NoMeasures:
    """Stands for the extra where it is not installed: runs are kept without measures."""

    def measured(self, _run: DevRun, _drafts: Sequence[Draft]) -> None:
        """Return None."""

    def figures(self, _title: str, _trace: Mapping[str, Any], _account: str) -> None:
        """Return None: what measures mean is known to the extra alone."""


def run_measures(store: TraceStore, parties: Callable[[], Mapping[str, str]]) -> RunMeasures:
    """Return the extra's measures, or those of nobody.

    Args:
        store: where traces are kept.
        parties: returns the party of each account.

    Raises:
        Unavailable: an extra of this name is not ours.
    """
    entry = extras.entry_point("measures", "runs")
    made: RunMeasures = extras.load("measures", entry)(store, parties) if entry else NoMeasures()
    return made
