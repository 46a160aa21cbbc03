"""Proof that an admitted task is broken: a reference solution that is judged false, or a mutant that is judged true.

It is admission's proof (gates 3 and 4) on the task as it stands now: every reference solution is played again in a
world of the task's data, and every mutant of the task's provenance is made of the first one's end state. The
provenance was committed to with the task, so nobody chooses afterwards what is played. Of a task with free parameters
the base is proven.

*Unknown* shows nothing, and neither do the gates that measure a task: calls, errors met, what reading the state takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from grammars.admission.prover import ExecutionResult, Prover
from grammars.draw.variants import base
from grammars.language.grammar import Draft
from verifiers.language.verdict import Verdict


class StateProver(Prover, Protocol):
    """A prover that gives end states in a form in which others can judge them again."""

    def end_state(
        self, document: Mapping[str, Any], proved: ExecutionResult, mutant: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Return a final state, as it is or after a mutant's change, as a document of plain JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class WrongVerdict:
    """A wrong verdict that execution gives on a task, with all that is needed to give it again.

    Attributes:
        solution: `reference`, whose verdict is false, or `mutant`, whose verdict is true.
        calls: the reference solution's calls, as they were played.
        answer: the answer that was judged, or None.
        state: the end state that was judged, as a document.
        verdict: the verdict.
    """

    solution: Literal["reference", "mutant"]
    calls: Sequence[Mapping[str, Any]] = field(repr=False)
    answer: str | None = field(repr=False)
    state: Mapping[str, Any] = field(repr=False)
    verdict: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        calls = [{"tool": call["tool"], "arguments": dict(call.get("arguments", {}))} for call in self.calls]
        return {
            "solution": self.solution,
            "calls": calls,
            "answer": self.answer,
            "state": dict(self.state),
            "verdict": self.verdict,
        }


def wrong_verdict(admitted: Draft, prover: StateProver) -> WrongVerdict | None:
    """Prove a task again, and give the first wrong verdict, or None where execution shows none.

    Raises:
        Exception: whatever the prover raises when its own machinery breaks; this says nothing about the task.
    """
    draft = base(admitted)
    solutions = draft.provenance.get("solutions", ())
    results = []
    for solution in solutions:
        calls, answer = solution["calls"], solution["answer"]
        proved = prover.prove(draft.task, calls, answer)
        if proved.verdict is Verdict.FALSE:
            return WrongVerdict("reference", calls, answer, prover.end_state(draft.task, proved), verdict=False)
        results.append(proved)
    if not results or results[0].verdict is not Verdict.TRUE:
        return None
    mutants = draft.provenance.get("mutants", ())
    for mutant, evidence in zip(mutants, prover.mutated(draft.task, results[0], mutants), strict=True):
        if evidence.verdict is Verdict.TRUE:
            answer = mutant.get("answer", solutions[0]["answer"])
            state = prover.end_state(draft.task, results[0], mutant)
            return WrongVerdict("mutant", solutions[0]["calls"], answer, state, verdict=True)
    return None
