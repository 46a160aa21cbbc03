"""Audit report: numbered steps, what is pending, and what no audit proves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vault.errors import Disagreement

State = Literal["proved", "pending", "not asked", "failed", "not reached"]

_MEASURED = (
    "that verdicts were computed honestly: an audit shows that results were fixed in time and add up, not that they "
    "were measured well; a spot check is judged by the operator's own machine, from states that it kept",
    "that no insider showed a task to a friend before it was opened",
    "that a run made outside the ledger never happened",
)
_COMPARE = "compare them with a checkpoint that you or others kept (--previous)"


def caveats(witnesses: Collection[str] = (), unchecked: Collection[str] = ()) -> tuple[str, ...]:
    """List what an audit does not prove.

    Args:
        witnesses: who cosigned the head, as the caller's policy names them.
        unchecked: who else signed it, whom the caller did not name.
    """
    if witnesses:
        order = (
            f"order and time against the operator and these witnesses together: {', '.join(witnesses)}. Each says that "
            "the log which it saw only grew, and when it saw this head; who they are is your policy's word"
        )
    elif unchecked:
        order = (
            "order and time against the operator: who else signed these checkpoints was not checked, because no policy "
            f"names them (--policy), so when they were made is the operator's word; {_COMPARE}"
        )
    else:
        order = (
            "order and time against the operator: no witness cosigned these checkpoints, so when they were made is the "
            f"operator's word; {_COMPARE}"
        )
    return (*_MEASURED, order)


CAVEATS = caveats()


@dataclass(frozen=True)
class Step:
    """One step of an audit.

    Attributes:
        number: its place, from 1.
        name: what it is about.
        ok: nothing disagreed. False for the step that failed, and for those after it, which were not reached.
        proved: a sentence that says what it proved, or what is pending; empty where it failed.
        detail: for a failure the sentence with the evidence; otherwise remarks, or nothing.
        state: `proved`, `pending`, `not asked`, `failed` or `not reached`.
        evidence: for a failure what disagrees, or None where the sentence says all that is known.
    """

    number: int
    name: str
    ok: bool
    proved: str
    detail: str = ""
    state: State = "proved"
    evidence: Disagreement | None = None

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values; a step that failed, and no other, has its evidence there."""
        data = {
            "number": self.number,
            "name": self.name,
            "ok": self.ok,
            "state": self.state,
            "proved": self.proved,
            "detail": self.detail,
        }
        if self.state == "failed":
            data["evidence"] = self.evidence.as_json() if self.evidence else None
        return data


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit.

    Attributes:
        ok: every step that could be made was proved; see `pending` for what could not be made yet.
        steps: all of them, in order.
        pending: the month (`YYYY-MM`) at which the last of these runs' full scores can be recomputed, or None.
        caveats: what this audit does not prove.
    """

    ok: bool
    steps: Sequence[Step]
    pending: str | None = None
    caveats: Sequence[str] = CAVEATS

    @property
    def failed(self) -> Step | None:
        """The step that failed, or None."""
        return next((step for step in self.steps if step.state == "failed"), None)

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON values."""
        return {
            "ok": self.ok,
            "steps": [step.as_json() for step in self.steps],
            "failed": self.failed.number if self.failed else None,
            "pending": self.pending,
            "caveats": list(self.caveats),
        }

    def lines(self) -> Iterator[str]:
        """Write it as text, line by line."""
        for step in self.steps:
            yield f"{step.number:2}. {step.name}: {step.state}"
            for sentence in (step.proved, step.detail):
                if sentence:
                    yield f"    {sentence}"
            if step.evidence:
                yield from (f"    {line}" for line in step.evidence.lines())
        yield "yes" if self.ok else f"no: step {self.failed.number} failed" if self.failed else "no"
        yield "What this audit does not prove:"
        yield from (f"  - {caveat}" for caveat in self.caveats)
