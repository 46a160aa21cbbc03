"""What admission needs executed; the sandbox has a class of this shape, and the hall hands it over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from verifiers.language.verdict import Evidence, Verdict


class Proved(Protocol):
    """How one execution ended.

    Attributes:
        verdict: what the predicate came to on the frozen state.
        evidence: why.
        calls: how many tool calls were made.
        errors: how many of them were answered with an error.
        spent: the larger of the shares of steps and bytes that reading the frozen state took, from 0 to 1.
        state: the frozen state; only the prover that made it knows its form.
        log: every call with its result, as plain JSON values.
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


class Spoiled(Protocol):
    """A final state that was made wrong in one way, and what the predicate says of it.

    Attributes:
        name: what is wrong.
        kind: `broken`, a conjunct made false, which must fail; or `mistake`, what agents get wrong, which should.
        verdict: what the predicate came to.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def verdict(self) -> Verdict: ...  # noqa: D102


class Prover(Protocol):
    """Runs calls against the real servers, in a fresh world each time."""

    def check(self, document: Mapping[str, Any]) -> None:
        """Make sure that the state and the predicate are valid and that the pinned servers have every listed tool.

        Raises:
            Exception: a sentence that says what is wrong and where.
        """
        ...

    def descriptions(self, tools: Sequence[str]) -> Mapping[str, str]:
        """Give the description of each tool (`server.tool`) as the pinned server words it."""
        ...

    def prove(self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str | None) -> Proved:
        """Make the calls (`{"tool", "arguments"}`) in a fresh world, freeze it, and evaluate the predicate."""
        ...

    def mutated(self, document: Mapping[str, Any], proved: Proved, mutant: Mapping[str, Any]) -> Evidence:
        """Spoil a final state or an answer, and evaluate the predicate again."""
        ...

    def spoiled(self, document: Mapping[str, Any], proved: Proved) -> Sequence[Spoiled]:
        """Spoil a final state in every way that the servers know, and evaluate the predicate on each."""
        ...
