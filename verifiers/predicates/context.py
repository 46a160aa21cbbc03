"""Context that the probes of one evaluation share: normal forms, cached results, and the judging budget.

A database's tables are built once, however many predicates use them. Whether that worked or failed, the next probe
gets the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar, cast

from verifiers.budget import MAX_JUDGED, ReadingBudget
from verifiers.errors import CorruptState, StateUnavailable, VerifierError
from verifiers.normal_form import NormalState

T = TypeVar("T")


class Context:
    """The normal forms, the answer, a cache and a budget.

    The budget is in steps of half a microsecond or less. A state that exceeds it is too large to be judged, which
    counts against the agent.

    Args:
        states: the normal form of each namespace; one that is not there could not be read for a reason of ours.
        answer: what the agent answered, or None.
        replies: what a language model replied of each claim about the answer, or None where none was asked.
        own_results: value and sentence of each own predicate of an added server, by its key
            (`verifiers.predicates.own_predicates`).
        baseline: the normal form of each namespace as the agent found it, or None where nobody gave it.
        budget: what judging may cost; by default the cap in `verifiers.budget`.
    """

    def __init__(
        self,
        states: Mapping[str, NormalState],
        answer: str | None,
        replies: Mapping[str, str | None] | None = None,
        own_results: Mapping[str, Sequence[str]] | None = None,
        *,
        budget: ReadingBudget | None = None,
        baseline: Mapping[str, NormalState] | None = None,
    ) -> None:
        self._states, self._baseline = states, baseline
        self._outcomes: dict[Hashable, object] = {}
        self._views: dict[str, Context] = {}
        self.answer, self.replies, self.own_results = answer, replies, own_results or {}
        self.budget = budget or ReadingBudget(MAX_JUDGED, what="judging")

    def as_registered(self, namespace: str, registered: str) -> Context:
        """Return the context in which a further server's state stands where its kind's first server has its own.

        It has the same answer and budget, and results of its own.
        """
        if namespace == registered:
            return self
        if namespace not in self._views:
            own = {registered: self._states[namespace]} if namespace in self._states else {}
            before = self._baseline
            if before is not None:
                before = {registered: before[namespace]} if namespace in before else {}
            self._views[namespace] = Context(
                own, self.answer, self.replies, self.own_results, budget=self.budget, baseline=before
            )
        return self._views[namespace]

    def state(self, namespace: str) -> NormalState:
        """Return a namespace's normal form, which has a document.

        Raises:
            CorruptState: nobody can read what was left.
            StateUnavailable: it was not read out.
        """
        state = self._states.get(namespace)
        if state is None:
            raise StateUnavailable(f"the state of {namespace} is not among the views: it could not be read out")
        if state.missing:
            raise StateUnavailable(state.missing)
        if state.unreadable:
            raise CorruptState(state.unreadable)
        return state

    def baseline(self, namespace: str) -> NormalState:
        """Return a namespace's normal form as the agent found it, which has a document.

        Raises:
            StateUnavailable: it was not given, or cannot be read.
        """
        state = None if self._baseline is None else self._baseline.get(namespace)
        if state is None:
            raise StateUnavailable(
                f"the state of {namespace} before the agent came is not given, and this compares with it; give the task"
            )
        if why := state.missing or state.unreadable:
            raise StateUnavailable(f"the state of {namespace} before the agent came: {why}")
        return state

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Memoize `make` under `key`: later calls give the same result, or raise the same `VerifierError`."""
        if key not in self._outcomes:
            try:
                self._outcomes[key] = make()
            except VerifierError as error:
                self._outcomes[key] = error
        outcome = self._outcomes[key]
        if isinstance(outcome, VerifierError):
            raise outcome
        return cast("T", outcome)
