"""Report of an audit: numbered steps, doubts, what is pending, and what no audit proves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vault.errors import Disagreement, Malformed, printable

State = Literal["proved", "pending", "not asked", "failed", "not reached"]
Answer = Literal["yes", "yes with doubts", "no"]

_MEASURED = (
    "that verdicts were computed honestly: results were fixed in time and add up; whether they "
    "were measured well, the operator's own machine says, also where results are judged again",
    "that no insider showed a task to a friend before it was opened",
    "that several pseudonyms are several submitters",
    "that a run made outside the log never happened",
)


def caveats(witnesses: Collection[str] = (), unchecked: Collection[str] = ()) -> tuple[str, ...]:
    """List what an audit does not prove.

    Args:
        witnesses: who cosigned the head, as the caller's policy names them.
        unchecked: who else signed it, whom the caller did not name.
    """
    order = "order and time against the operator"
    word = "so when they were made is the operator's word"
    kept = "compare them with a checkpoint that you or others kept (--previous)"
    if witnesses:
        order += (
            f" and these witnesses together: {', '.join(witnesses)}. A witness says only that the "
            "log grew and when; an operator who takes a month to forge one is not found out by it"
        )
    elif unchecked:
        order += ": who else signed these checkpoints was not checked, because no policy names "
        order += f"them (--policy), {word}; {kept}"
    else:
        order += f": no witness cosigned these checkpoints, {word}; {kept}"
    return (*_MEASURED, order)


@dataclass(frozen=True)
class Step:
    """One step of an audit.

    Attributes:
        number: its place, from 1.
        name: what it is about.
        state: whether it was proved.
        proved: a sentence that says what; empty where it failed or was not reached.
        rule: for a failure the name of the rule that is broken, if there is one.
        detail: for a failure what is wrong.
        evidence: for a failure what disagrees, or None where the sentence says all that is known.
    """

    number: int
    name: str
    state: State
    proved: str = ""
    rule: str | None = None
    detail: str = ""
    evidence: Disagreement | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing disagreed."""
        return self.state not in {"failed", "not reached"}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; a step that failed, and no other, has its evidence there."""
        names = ("number", "name", "ok", "state", "proved", "detail")
        data = {name: getattr(self, name) for name in names}
        if self.state == "failed":
            data |= {"rule": self.rule, "evidence": self.evidence and self.evidence.as_json()}
        return data


@dataclass(frozen=True)
class Doubt:
    """What an honest operator can have a reason for, and a dishonest one could gain by.

    Attributes:
        rule: the name of the rule that was not kept.
        sentence: what was found.
        evidence: what would have been expected, and what stands there.
    """

    rule: str
    sentence: str
    evidence: Disagreement


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit.

    Attributes:
        steps: all of them, in order.
        doubts: numbered from 1, in this order.
        accepted: the numbers of those that the caller accepts.
        pending: the month (`YYYY-MM`) at which the last of these runs' full scores can be recomputed.
        caveats: what this audit does not prove.
    """

    steps: Sequence[Step]
    doubts: Sequence[Doubt] = ()
    accepted: Collection[int] = ()
    pending: str | None = None
    caveats: Sequence[str] = ()

    @property
    def failed(self) -> Step | None:
        """The step that failed, or None."""
        return next((step for step in self.steps if step.state == "failed"), None)

    @property
    def answer(self) -> Answer:
        """The answer in a word or three."""
        return "no" if self.failed else "yes with doubts" if self.doubts else "yes"

    @property
    def ok(self) -> bool:
        """Whether nothing failed and the caller accepts every doubt."""
        return not self.failed and {*range(1, len(self.doubts) + 1)} <= {*self.accepted}

    def require_doubts(self) -> None:
        """Refuse an accepted number that no doubt has: who means another one has not accepted that.

        Raises:
            Malformed: there is one, and no step failed, beside which no doubt matters.
        """
        unknown = sorted({*self.accepted} - {*range(1, len(self.doubts) + 1)})
        if unknown and not self.failed:
            there = f"its doubts have the numbers 1 to {len(self.doubts)}" if self.doubts else "it leaves no doubt"
            raise Malformed(f"--accept {unknown[0]} is no doubt of this audit: {there}; correct it, or leave it out")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        doubts = [
            {
                "number": number,
                "rule": doubt.rule,
                "doubt": doubt.sentence,
                "accepted": number in self.accepted,
                "evidence": doubt.evidence.as_json(),
            }
            for number, doubt in enumerate(self.doubts, 1)
        ]
        return {
            "answer": self.answer,
            "ok": self.ok,
            "steps": [step.as_json() for step in self.steps],
            "failed": self.failed.number if self.failed else None,
            "doubts": doubts,
            "pending": self.pending,
            "caveats": list(self.caveats),
        }

    def lines(self) -> Iterator[str]:
        """Write it as text, line by line."""
        for step in self.steps:
            yield f"{step.number:2}. {step.name}: {step.state}"
            for sentence in (step.proved, step.detail):
                if sentence:
                    yield f"    {printable(sentence)}"
            if step.evidence:
                yield from (f"    {line}" for line in step.evidence.lines())
        yield f"no: step {self.failed.number} failed" if self.failed else self.answer
        for number, doubt in enumerate(self.doubts, 1):
            accepted = " (accepted)" if number in self.accepted else ""
            yield f"Doubt {number}{accepted}: {doubt.sentence}"
            yield from (f"    {line}" for line in doubt.evidence.lines())
        if self.doubts and not self.ok and not self.failed:
            yield "Accept each doubt that has a good reason by its number (--accept 1)."
        yield "What this audit does not prove:"
        yield from (f"  - {caveat}" for caveat in self.caveats)
