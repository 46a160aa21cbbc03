"""Interface (protocol) between admission and execution; the sandbox implements it, and the application injects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from verifiers.language.verdict import Evidence, Verdict


class ExecutionResult(Protocol):
    """The result of one execution of a solution.

    Attributes:
        verdict: the predicate's verdict on the frozen state.
        evidence: the evidence for it.
        calls: how many tool calls were made.
        errors: how many of them were answered with an error.
        spent: the largest share of a budget that the verdict took, from 0 to 1: steps or bytes of reading, or steps
            of judging.
        state: the frozen state; only the prover that made it knows its form.
        log: every call as plain JSON values: at least `tool`, `error` and `injected` (whether it ended in an error, and
            in a scheduled one) and `result`, the text of its result or error.
    """

    @property
    def verdict(self) -> Verdict: ...  # noqa: D102 - the class says it
    @property
    def evidence(self) -> Evidence: ...  # noqa: D102
    @property
    def calls(self) -> int: ...  # noqa: D102
    @property
    def errors(self) -> int: ...  # noqa: D102
    @property
    def spent(self) -> float: ...  # noqa: D102
    @property
    def state(self) -> Any: ...  # noqa: D102
    @property
    def log(self) -> Sequence[Any]: ...  # noqa: D102


class MutationResult(Protocol):
    """One mutation of a correct final state, and the predicate's verdict on it.

    Attributes:
        name: what was changed.
        kind: `broken`, a conjunct made false, and `damage`, a change that no solution makes, which must fail; or
            `mistake`, a typical error of agents, which should; or `wide`, a change that a selection of the frame lets
            through and says why; or `twin`, which must pass.
        verdict: the predicate's verdict on the mutated state.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def verdict(self) -> Verdict: ...  # noqa: D102


class Prover(Protocol):
    """Executes tool calls against the real servers, each time on the draft's data, and evaluates the predicate."""

    def check(self, document: Mapping[str, Any]) -> None:
        """Make sure that the state and the predicate are valid and that the pinned servers have every listed tool.

        Raises:
            Exception: a sentence that says what is wrong and where.
        """
        ...

    def descriptions(self, tools: Sequence[str]) -> Mapping[str, str]:
        """Return the description of each tool (`server.tool`) as the pinned server words it."""
        ...

    def prove(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str | None
    ) -> ExecutionResult:
        """Make the calls (`{"tool", "arguments"}`) in a world with its data, freeze it, and evaluate the predicate."""
        ...

    def harmless_calls(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any]]:
        """List calls that may follow a solution and change nothing: reads, refused writes, what is made and undone."""
        ...

    def mutated(
        self, document: Mapping[str, Any], proved: ExecutionResult, mutants: Sequence[Mapping[str, Any]]
    ) -> Sequence[Evidence]:
        """Apply each of the template's mutants to a final state or an answer, and evaluate the predicate again."""
        ...

    def mutant_results(self, document: Mapping[str, Any], proved: ExecutionResult) -> Sequence[MutationResult]:
        """Apply every mutation that the servers define to a final state, and evaluate the predicate on each."""
        ...

    def twin_results(self, document: Mapping[str, Any], proved: ExecutionResult) -> Sequence[MutationResult]:
        """Evaluate the predicate on every twin of a final state (`verifiers.twins`).

        The name of one that is not true goes on with the predicate that it fails: `files/final-newline (…)`.
        """
        ...
